import { mergeBatchResults } from '../batch/merge-results';
import type { MergeBatchResultsInput, MergeBatchResultsResult } from '../shared/batch-activities';
import { runBatchStep } from './batch-step';

/** Brings all results of a batch into the manifest's order. Repeat-safe. */
export function createMergeBatchResults() {
  return (input: MergeBatchResultsInput): Promise<MergeBatchResultsResult> =>
    runBatchStep(({ jobKey, attempt, signal }) => mergeBatchResults(input, { jobKey, attempt, signal }));
}
