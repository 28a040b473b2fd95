import { pathToFileURL } from 'node:url';
import { writeBatchReport } from '../batch/report/write-report';
import type { WriteBatchReportInput, WriteBatchReportResult } from '../shared/batch-activities';
import { runBatchStep } from './batch-step';

/** Writes the report of a batch whose results are merged. Repeat-safe: an attempt takes the place of what one before it has written. */
export function createWriteBatchReport() {
  return (input: WriteBatchReportInput): Promise<WriteBatchReportResult> =>
    runBatchStep(async ({ jobKey, attempt, signal }) => {
      const { files } = await writeBatchReport({ ...input, writing: { jobKey, attempt, signal } });
      return { report: pathToFileURL(files.html).href };
    });
}
