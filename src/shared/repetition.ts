import type { EarlierRuns } from './charge';
import { decideRepetition } from './charge';
import type { OnUnknownOutcome } from './job';

/** Rules for conversions that an earlier run may have been charged for. */
export interface RepetitionRules {
  onUnknownOutcome: OnUnknownOutcome;
  /** Convert them in any case. */
  resubmit: boolean;
}

/**
 * The `earlier` input for a row's next job, by `decideRepetition`; `keep`: there must be no next job.
 *
 * @param left by a job without a result or, with `delivered`, by one whose delivered result has since gone.
 */
export function earlierOfNext(
  left: EarlierRuns,
  { rules, isSameContent }: { rules: RepetitionRules; isSameContent: boolean },
): EarlierRuns | 'keep' | undefined {
  const { charge, source, delivered, possiblyChargedTwice } = left;
  const mark = possiblyChargedTwice && { possiblyChargedTwice };
  // A task with an unknown source may be for other content.
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
