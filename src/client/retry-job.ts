import type { Client } from '@temporalio/client';
import type { EarlierRuns } from '../shared/charge';
import { decideRepetition } from '../shared/charge';
import type { OnUnknownOutcome } from '../shared/job';
import type { ConversionHandle } from './conversion-handle';
import { FileConversionClient } from './file-conversion-client';
import type { JobInspection } from './inspect-job';

/** How a job that ended without a file can run again; see docs/repetition.md. */
export type RetryPlan =
  /** Goes on with the conversion task that there is: awaits it and downloads its result. Nothing is submitted while the service has it. */
  | { kind: 'fetch'; taskId: string; earlier: EarlierRuns }
  /** From the beginning. `isMarked`: an earlier submit may have been charged, or was, and the result will say so. */
  | { kind: 'convert'; isMarked: boolean; earlier: EarlierRuns }
  /** An earlier submit may have been charged, so it runs again on request only. */
  | { kind: 'keep'; why: string }
  /** There is nothing to do. */
  | { kind: 'none'; why: string };

/**
 * Decides what is safe, by the history of the job's last run. Without `resubmit` nothing is converted that may have been paid, whatever
 * the job's own policy says: a person is there who can look.
 */
export function planRetry(
  { status, history, workflowId }: JobInspection,
  { resubmit = false }: { resubmit?: boolean } = {},
): RetryPlan {
  if (status === 'running') return { kind: 'none', why: `job ${workflowId} still runs` };
  if (status === 'completed') return { kind: 'none', why: `job ${workflowId} has completed` };
  const { charge: earlier } = history;
  const onUnknownOutcome: OnUnknownOutcome = 'fail';
  // The file may have changed: then `resubmit` says that the new one is meant.
  const repetition = decideRepetition(earlier, { onUnknownOutcome, isSameContent: true, resubmit });
  switch (repetition.kind) {
    case 'fetch':
      return { ...repetition, earlier };
    case 'convert':
      return { ...repetition, earlier: withoutTask(earlier) };
    case 'keep':
      return {
        kind: 'keep',
        why: 'its last submit has an unknown outcome: the conversion may have run and may have been charged',
      };
  }
}

/** What may have been charged stays known, and is not waited for. */
function withoutTask({ charge, possiblyChargedTwice }: EarlierRuns): EarlierRuns {
  return {
    charge: charge === 'yes' ? 'maybe' : charge,
    ...(possiblyChargedTwice && { possiblyChargedTwice }),
  };
}

/** A new run of the job, with the same id and all that is known of its earlier runs. */
export function runAgain(
  client: Client,
  { workflowId, taskQueue, batchId, history }: JobInspection,
  { kind, earlier }: Extract<RetryPlan, { kind: 'fetch' | 'convert' }>,
): Promise<ConversionHandle> {
  const conversions = new FileConversionClient({ client, taskQueue });
  const { policies, ...input } = history.input;
  // Nobody has asked to pay again if the service has lost the task.
  const decided = kind === 'fetch' ? { ...policies, onUnknownOutcome: 'fail' as const } : policies;
  const request = { ...input, ...(decided && { policies: decided }), earlier };
  return conversions.start(request, { workflowId, ...(batchId !== undefined && { batchId }) });
}
