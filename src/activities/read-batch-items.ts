import { readBatchItems } from '../batch/manifest-rows';
import type { ReadBatchItemsInput, ReadBatchItemsResult } from '../shared/batch-activities';
import { runBatchStep } from './batch-step';

/** Reads the next items of a batch from its manifest. Repeat-safe. */
export function createReadBatchItems() {
  return (input: ReadBatchItemsInput): Promise<ReadBatchItemsResult> =>
    runBatchStep(({ signal }) => readBatchItems(input, signal));
}
