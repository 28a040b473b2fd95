import { defined } from './defined';
import { defaultPolicies } from './policies';
import type { ConversionJobInput } from './types';

/**
 * The input of a job that Temporal has run again by itself, by a retry policy or a cron schedule: it recalls the run before. Nobody has
 * asked for all of it `again`.
 */
export function recallingRunBefore(input: ConversionJobInput, runId: string | null | undefined): ConversionJobInput {
  if (!runId) return input;
  const { onUnknownOutcome = defaultPolicies.onUnknownOutcome } = input.policies ?? {};
  return { ...input, recall: { onUnknownOutcome, ...defined({ ...input.recall, again: undefined }), runId } };
}
