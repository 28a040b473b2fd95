import type { EarlierRuns } from './charge';
import { decideRepetition } from './charge';
import type { OnUnknownOutcome } from './job';

/** What decides about conversions that an earlier run may have been charged for. */
export interface RepetitionRules {
  onUnknownOutcome: OnUnknownOutcome;
  /** Convert them in any case. */
  resubmit: boolean;
}

/**
 * What a new job of a row is told of earlier ones, by `decideRepetition`; `keep`: there is to be no new job.
 *
 * @param left by a job that brought no result, or, when it says so, one whose result was delivered and is gone since.
 */
export function earlierOfNext(
  left: EarlierRuns,
  { rules, isSameContent }: { rules: RepetitionRules; isSameContent: boolean },
): EarlierRuns | 'keep' | undefined {
  const { charge, source, delivered, possiblyChargedTwice } = left;
  const mark = possiblyChargedTwice && { possiblyChargedTwice };
  // A task whose source is not known may have been made of another content.
  const task = source && left.taskId !== undefined ? { taskId: left.taskId, source } : undefined;
  if (delivered) {
    if (!isSameContent) return undefined;
    const isFetched = task && !rules.resubmit;
    return isFetched ? { charge, ...task, delivered, ...mark } : mark && { charge: 'no', ...mark };
  }
  const decision = decideRepetition({ charge, ...task }, { ...rules, isSameContent });
  switch (decision.kind) {
    case 'keep':
      return 'keep';
    case 'fetch':
      return { charge, ...task, ...mark };
    case 'convert':
      if (decision.isMarked) return { charge: 'maybe', ...mark };
      return mark && { charge: 'no', ...mark };
  }
}
