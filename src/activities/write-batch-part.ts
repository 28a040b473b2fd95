import { writeBatchPart } from '../batch/part-files';
import type { WriteBatchPartInput } from '../shared/batch-activities';
import { runBatchStep } from './batch-step';

/** Writes results of a batch down. Repeat-safe: the same part takes its own place. */
export function createWriteBatchPart() {
  return (input: WriteBatchPartInput): Promise<void> =>
    runBatchStep(({ jobKey, attempt, signal }) => writeBatchPart(input, { jobKey, attempt, signal }));
}
