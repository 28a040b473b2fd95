import { pathToFileURL } from 'node:url';
import { readBatchItems, rereadBatchItems } from '../batch/manifest-rows';
import { mergeBatchResults, writeBatchPart } from '../batch/merge-results';
import { writeBatchReport } from '../batch/report/write-report';
import type {
  WriteBatchReportInput,
  WriteBatchReportResult,
  MergeBatchResultsInput,
  MergeBatchResultsResult,
  WriteBatchPartInput,
  ReadBatchItemsInput,
  ReadBatchItemsResult,
  RereadBatchItemsInput,
  RereadBatchItemsResult,
} from '../shared/batch-activities';
import { runBatchStep } from './activity-attempt';

/** Reads the next items of a batch from its manifest. Idempotent. */
export function createReadBatchItems() {
  return (input: ReadBatchItemsInput): Promise<ReadBatchItemsResult> =>
    runBatchStep(({ signal }) => readBatchItems(input, signal));
}

/** Rereads items of a batch. Idempotent. */
export function createRereadBatchItems() {
  return (input: RereadBatchItemsInput): Promise<RereadBatchItemsResult> =>
    runBatchStep(({ signal }) => rereadBatchItems(input, signal));
}

/** Writes a part of a batch's results. Idempotent: writing the same part again replaces it. */
export function createWriteBatchPart() {
  return (input: WriteBatchPartInput): Promise<void> =>
    runBatchStep(({ jobKey, attempt, signal }) => writeBatchPart(input, { jobKey, attempt, signal }));
}

/** Merges all results of a batch in the order of the manifest. Idempotent. */
export function createMergeBatchResults() {
  return (input: MergeBatchResultsInput): Promise<MergeBatchResultsResult> =>
    runBatchStep(({ jobKey, attempt, signal }) => mergeBatchResults(input, { jobKey, attempt, signal }));
}

/** Writes the report of a batch whose results are merged. Idempotent: a retry replaces earlier output. */
export function createWriteBatchReport() {
  return (input: WriteBatchReportInput): Promise<WriteBatchReportResult> =>
    runBatchStep(async ({ jobKey, attempt, signal }) => {
      const { files } = await writeBatchReport({ ...input, writing: { jobKey, attempt, signal } });
      return { report: pathToFileURL(files.html).href };
    });
}
