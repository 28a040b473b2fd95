import { defined } from './defined';
import { defaultPolicies } from './policies';
import type { ConversionJobInput, Recall } from './types';

/**
 * If Temporal itself reran the job, by a retry policy or a cron schedule, the new run recalls the previous one. Drops `again`: nobody
 * asked to convert everything again.
 */
export function recallingRunBefore(input: ConversionJobInput, runId: string | null | undefined): ConversionJobInput {
  if (!runId) return input;
  const { onUnknownOutcome = defaultPolicies.onUnknownOutcome } = input.policies ?? {};
  return { ...input, recall: { onUnknownOutcome, ...defined({ ...input.recall, again: undefined }), runId } };
}

/** For `job retry` and for a job that was reset: whatever its policy, nothing that may have been charged is converted again. */
export function retryOf(runId: string): Recall {
  return { runId, onUnknownOutcome: 'fail', isSingle: true, isRetry: true };
}
