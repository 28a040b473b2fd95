import { readBatchItems, rereadBatchItems } from '../batch/manifest-rows';
import { mergeBatchResults, writeBatchPart } from '../batch/merge-results';
import { reportPage, writeBatchReport } from '../batch/report/write-report';
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
import type { ActivityDependencies } from './dependencies';

type Stored = Pick<ActivityDependencies, 'files'>;

/** Reads the next items of a batch from its manifest. Idempotent. */
export function createReadBatchItems({ files }: Stored) {
  return (input: ReadBatchItemsInput): Promise<ReadBatchItemsResult> =>
    runBatchStep(({ signal }) => readBatchItems(files, input, signal));
}

/** Rereads items of a batch. Idempotent. */
export function createRereadBatchItems({ files }: Stored) {
  return (input: RereadBatchItemsInput): Promise<RereadBatchItemsResult> =>
    runBatchStep(({ signal }) => rereadBatchItems(files, input, signal));
}

/** Writes a part of a batch's results. Idempotent: writing the same part again replaces it. */
export function createWriteBatchPart({ files }: Stored) {
  return (input: WriteBatchPartInput): Promise<void> =>
    runBatchStep(({ jobKey, attempt, signal }) => writeBatchPart(files, input, { jobKey, attempt, signal }));
}

/** Merges all results of a batch in the order of the manifest. Idempotent. */
export function createMergeBatchResults({ files }: Stored) {
  return (input: MergeBatchResultsInput): Promise<MergeBatchResultsResult> =>
    runBatchStep(({ jobKey, attempt, signal }) => mergeBatchResults(files, input, { jobKey, attempt, signal }));
}

/** Writes the report of a batch whose results are merged. Idempotent: a retry replaces earlier output. */
export function createWriteBatchReport({ files }: Stored) {
  return (input: WriteBatchReportInput): Promise<WriteBatchReportResult> =>
    runBatchStep(async ({ jobKey, attempt, signal }) => {
      await writeBatchReport(files, { ...input, writing: { jobKey, attempt, signal } });
      return { report: reportPage(input.folder) };
    });
}
