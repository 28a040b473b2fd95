import { readBatchItems, rereadBatchItems } from '../batch/manifest-rows';
import type {
  ReadBatchItemsInput,
  ReadBatchItemsResult,
  RereadBatchItemsInput,
  RereadBatchItemsResult,
} from '../shared/batch-activities';
import { runBatchStep } from './batch-step';

/** Reads the next items of a batch from its manifest. Repeat-safe. */
export function createReadBatchItems() {
  return (input: ReadBatchItemsInput): Promise<ReadBatchItemsResult> =>
    runBatchStep(({ signal }) => readBatchItems(input, signal));
}

/** Reads items of a batch again. Repeat-safe. */
export function createRereadBatchItems() {
  return (input: RereadBatchItemsInput): Promise<RereadBatchItemsResult> =>
    runBatchStep(({ signal }) => rereadBatchItems(input, signal));
}
