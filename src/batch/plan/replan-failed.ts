import { fileURLToPath } from 'node:url';
import type { BatchItem } from '../../shared/batch';
import { lastSegment } from '../../shared/job';
import { hashFile } from '../hash-file';
import { EarlierResults } from '../runs/earlier-results';
import { readItems } from '../runs/read-run';
import { isOwnResult } from './compare-row';
import { look } from './look';
import { mapOrdered } from './map-ordered';
import type { PlannedBatch } from './planned-batch';
import { writeRun, type SettledRow } from './write-run';

export interface ReplanFailedOptions {
  /** Folder of the batch. Absolute path. */
  batchFolder: string;
  /** Writes no run. */
  dryRun?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

const rowsUnderWay = 8;
const none = { count: 0, listed: [] } as const;

/** There is no run that could be tried again. */
export class NoEarlierRunError extends Error {
  override readonly name = 'NoEarlierRunError';
}

/**
 * A new run with the rows of the latest: those that succeeded or were skipped are done, the rest is to do again. Rows keep their numbers.
 *
 * @throws NoEarlierRunError; DamagedRunError; the signal's reason.
 */
export async function replanFailed(options: ReplanFailedOptions): Promise<PlannedBatch> {
  try {
    return await replan(options);
  } catch (error) {
    // A stream that was aborted fails with an error of its own kind.
    options.signal?.throwIfAborted();
    throw error;
  }
}

async function replan({ batchFolder, dryRun, signal }: ReplanFailedOptions): Promise<PlannedBatch> {
  const earlier = await EarlierResults.read(batchFolder, signal);
  const { latest } = earlier;
  if (!latest) {
    throw new NoEarlierRunError(`${batchFolder} holds no run of a batch. Start one first: fileconv batch run`);
  }
  const rows = mapOrdered(readItems(latest, signal), { concurrency: rowsUnderWay, signal }, (item) =>
    replanRow(item, earlier, signal),
  );
  const { run, counts } = await writeRun(rows, { batchFolder, canRun: () => dryRun !== true });
  return {
    ...(run && { run }),
    ...counts.summary(),
    existing: await counts.existing.list(noRows),
    leftOut: { repeated: 0, unmodified: 0, unsettled: 0, ownResults: 0 },
    problems: none,
    warnings: none,
  };
}

async function replanRow(
  { source, output, input, destination, onExisting: before, done }: BatchItem,
  earlier: EarlierResults,
  signal: AbortSignal | undefined,
): Promise<SettledRow> {
  const row = { source, output, ...(input !== undefined && { input }), destination };
  const [found, existing] = await Promise.all([look(fileURLToPath(source)), look(fileURLToPath(destination))]);
  const seen = {
    bytes: found.kind === 'file' ? found.bytes : 0,
    exists: existing.kind !== 'none' || existing.isLink,
  };
  const nowDone = done ?? (await outcomeOf(row, earlier, signal));
  if (nowDone) return { item: { ...row, done: nowDone }, ...seen };
  const record = earlier.find(destination);
  // Asked again: somebody may have put a file of his own there since.
  const mayReplace = record !== undefined && (await isOwnResult(record, destination, signal));
  const onExisting = mayReplace ? 'overwrite' : before === 'overwrite' ? undefined : before;
  return { item: { ...row, ...(onExisting !== undefined && { onExisting }) }, ...seen };
}

/** What the latest run made of a row; undefined when that was nothing. */
async function outcomeOf(
  row: Pick<BatchItem, 'source' | 'destination'>,
  earlier: EarlierResults,
  signal: AbortSignal | undefined,
): Promise<BatchItem['done']> {
  const status = earlier.statusOf(row.destination);
  const record = earlier.find(row.destination);
  if (status === 'succeeded' && record) {
    const now = await look(fileURLToPath(row.source));
    const isUntouched = now.kind === 'file' && record.hasStamp(now.stamp);
    return { source: { ...record.source, ...(isUntouched && { stamp: now.stamp }) }, output: record.output };
  }
  if (status !== 'succeeded' && status !== 'skipped') return undefined;
  // Something was at the destination, and was to stay: both files are described as they are.
  const [source, output] = await Promise.all([
    hashFile(fileURLToPath(row.source), signal),
    hashFile(fileURLToPath(row.destination), signal),
  ]);
  if (!source || !output) return undefined;
  return { source, output: { uri: row.destination, name: lastSegment(row.destination), ...output } };
}

async function* noRows(): AsyncGenerator<never> {
  // Messages here name no other rows.
}
