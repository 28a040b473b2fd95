import type { FileStore } from '../../storage/file-store';
import type { BatchReport } from './report';
import type * as Written from './write-report';

/**
 * The report of an ended run. Writes it if it is missing, or with `again`.
 * @throws RunFileError if the run's files are missing or damaged, StorageError if the report cannot be written.
 */
export async function reportOf(
  files: FileStore,
  { again = false, ...options }: Written.BatchReportOptions & { again?: boolean },
): Promise<BatchReport> {
  // Lazy: most programs that start a batch write no page.
  const { readBatchReport, writeBatchReport } = require('./write-report') as typeof Written;
  const found = again ? undefined : await readBatchReport(files, options);
  return found ?? writeBatchReport(files, options);
}
