import type { BatchItem } from '../../shared/batch';
import { defined } from '../../shared/defined';
import { lastSegment, type SourceContent } from '../../shared/job';
import { defaultPolicies } from '../../shared/policies';
import type { FileStore } from '../../storage/file-store';
import { hashFile, hashSource, lookAtSource } from '../contents';
import { mapOrdered } from '../lines';
import { type EarlierRow, EarlierResults } from '../runs/earlier-results';
import { readItems } from '../runs/run-folders';
import { shownFolder } from '../uris';
import type { PlanBatchOptions } from './plan-batch';
import { type PlannedBatch, type SettledRow, writeRun } from './planned-batch';
import { refuseRow, type Repeating, repeatRow } from './settle-row';

export type ReplanFailedOptions = Pick<
  PlanBatchOptions,
  'files' | 'batchFolder' | 'onUnknownOutcome' | 'resubmit' | 'ask' | 'unconvertible' | 'dryRun' | 'signal'
>;

const rowsUnderWay = 8;
const none = { count: 0, listed: [] } as const;

/** The batch has no earlier run to retry. */
export class NoEarlierRunError extends Error {
  override readonly name = 'NoEarlierRunError';
}

/**
 * A new run with the rows of the latest: rows that succeeded or were skipped are done, the rest is retried. Row numbers
 * stay.
 * @throws NoEarlierRunError; DamagedRunError; the signal's reason.
 */
export function replanFailed(options: ReplanFailedOptions): Promise<PlannedBatch> {
  return replan(options).catch((error: unknown) => {
    // An aborted stream fails with an error of its own.
    options.signal?.throwIfAborted();
    throw error;
  });
}

async function replan({
  files,
  batchFolder,
  onUnknownOutcome = defaultPolicies.onUnknownOutcome,
  resubmit,
  ask,
  unconvertible,
  dryRun,
  signal,
}: ReplanFailedOptions): Promise<PlannedBatch> {
  const earlier = await EarlierResults.read(files, batchFolder, signal);
  const { latest } = earlier;
  if (!latest) {
    throw new NoEarlierRunError(
      `${shownFolder(batchFolder)} holds no run of a batch. Start one first: fileconv batch run`,
    );
  }
  const rules = { onUnknownOutcome, resubmit: resubmit === true };
  const rows = mapOrdered(readItems(files, latest, signal), { concurrency: rowsUnderWay, signal }, (item) =>
    replanRow(item, earlier, { files, rules, ask, unconvertible, signal }),
  );
  const leftOut = () => earlier.leftOut();
  const written = await writeRun(rows, { files, batchFolder, canRun: () => dryRun !== true, leftOut, signal });
  return {
    ...written,
    existing: await written.existing.list(),
    leftOut: { repeated: 0, unmodified: 0, unsettled: 0, ownResults: 0 },
    problems: none,
    warnings: none,
  };
}

async function replanRow(
  { source, output, input, parameters, destination, onExisting: before, sourceGroup, done }: BatchItem,
  earlier: EarlierResults,
  { ask, unconvertible, ...repeating }: Repeating & Pick<ReplanFailedOptions, 'ask' | 'unconvertible'>,
): Promise<SettledRow> {
  const { files } = repeating;
  const row = defined({ source, output, input, parameters, destination });
  const [found, existing] = await Promise.all([lookAtSource(files, source), files.look(destination)]);
  const seen = {
    bytes: found.kind === 'file' ? found.bytes : 0,
    exists: existing.kind !== 'none' || existing.isLink,
  };
  const known = earlier.find(destination);
  earlier.take(destination);
  const nowDone = done ?? (await outcomeOf(row, known, repeating));
  if (nowDone) return { item: { ...row, done: nowDone }, ...seen };
  const repeated = known && (await repeatRow(row, known, repeating));
  // An `overwrite` is decided again: the run's own result may have been replaced by a user's file since.
  const asked = before !== undefined && before !== 'overwrite' && { onExisting: before };
  const again: Omit<BatchItem, 'item'> = { ...row, ...asked, ...defined({ sourceGroup }), ...repeated };
  return { item: await refuseRow(again, { ask, known, exists: seen.exists, unconvertible }), ...seen };
}

/** How the latest run ended the row; undefined if it brought no result. */
async function outcomeOf(
  row: Pick<BatchItem, 'source' | 'destination'>,
  known: EarlierRow | undefined,
  { files, signal }: Repeating,
): Promise<BatchItem['done']> {
  const { status, delivered } = known ?? {};
  if (status === 'succeeded' && delivered) {
    const { source, output, taskId, possiblyChargedTwice, warnings } = delivered;
    const now = await asItIsNow(files, source, row.source);
    return defined({ source: now, output, taskId, possiblyChargedTwice, warnings });
  }
  if (status !== 'succeeded' && status !== 'skipped') return undefined;
  // Something was at the destination and was to stay: both files are described as they are now.
  const [source, output] = await Promise.all([
    hashSource(files, row.source, signal),
    hashFile(files, row.destination, signal),
  ]);
  if (!source || !output) return undefined;
  return { source, output: { uri: row.destination, name: lastSegment(row.destination), ...output } };
}

/** Drops the stamp if it no longer matches the file. */
async function asItIsNow(
  files: FileStore,
  { bytes, sha256, stamp }: SourceContent,
  uri: string,
): Promise<SourceContent> {
  const now = await lookAtSource(files, uri);
  return defined({ bytes, sha256, stamp: now.kind === 'file' && now.stamp === stamp ? stamp : undefined });
}
