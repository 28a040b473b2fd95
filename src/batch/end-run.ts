import type { BatchItemEnd } from '../job/types';
import { defined } from '../job/defined';
import { StorageError } from '../storage/errors';
import type { FileStore } from '../storage/file-store';
import type { EndRunInput, EndRunResult } from './model/activities';
import { mergeBatchResults } from './batch-steps';
import type { Writing } from './contents';
import { moveSources } from './move-sources';
import { reportPage } from './report/report';
import { writeBatchReport } from './report/write-report';
import { RunFileError } from './run-files';

/** A report that can't be written must not keep anybody waiting for the batch's result. */
const reportAttempts = 4;

/**
 * Ends a run: merges its results, adds them to the ledger, moves its sources and writes its report. Safe to repeat.
 *
 * @throws RunFileError if the run's files are damaged, or hold other counts than the batch.
 */
export async function endRun(
  files: FileStore,
  { folder, batch, ui, parts, rest, state, moves }: EndRunInput,
  writing: Writing,
): Promise<EndRunResult> {
  const { results, counts } = await mergeBatchResults(files, { folder, parts, rest }, writing);
  requireCounts(folder, { counts, counted: state });
  const unmoved = moves && (await moveSources(files, { folder, batch, moves }, writing));
  const ended = defined({ results, unmoved });
  try {
    await writeBatchReport(files, { folder, batch, ui, state: { ...state, ...ended }, writing });
    return { ...ended, report: reportPage(folder) };
  } catch (error) {
    writing.signal?.throwIfAborted();
    if (error instanceof StorageError && writing.attempt < reportAttempts) throw error;
    return { ...ended, reportFailure: error instanceof Error ? error.message : String(error) };
  }
}

type Counts = Record<BatchItemEnd, number>;

function requireCounts(folder: string, { counts, counted }: { counts: Counts; counted: Counts }): void {
  const names = ['succeeded', 'failed', 'skipped', 'cancelled'] as const;
  if (names.every((name) => counts[name] === counted[name])) return;
  const list = (of: Counts) => names.map((name) => `${of[name]} ${name}`).join(', ');
  throw new RunFileError(
    'BATCH_COUNTS_DIFFER',
    `The batch counted ${list(counted)}; its files in ${folder} hold ${list(counts)}. Was a file of the run changed, or the workflow reset? Run the batch again to continue with what is left.`,
  );
}
