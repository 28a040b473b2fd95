import type { BatchItem } from '../../shared/batch';
import { defined } from '../../shared/defined';
import { lastSegment, type SourceContent } from '../../shared/job';
import { defaultPolicies } from '../../shared/policies';
import type { FileStore } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
import { hashFile, hashSource, lookAtSource } from '../contents';
import { isThere } from '../recall';
import { Ledger, type LedgerRow } from '../ledger';
import { mapOrdered } from '../lines';
import { shownFolder } from '../uris';
import type { PlanBatchOptions } from './plan-batch';
import { unusable } from './candidate';
import { Findings } from './findings';
import { conclude, firstAttempt, type PlannedBatch, type SettledRow, writeRun } from './planned-batch';
import { refuseRow, type Repeating, repeatRow } from './settle-row';

export type ReplanFailedOptions = Pick<
  PlanBatchOptions,
  'files' | 'batchFolder' | 'onUnknownOutcome' | 'again' | 'ask' | 'unconvertible' | 'dryRun' | 'writing' | 'signal'
>;

const rowsUnderWay = 8;

/** The batch has no earlier run to retry. */
export class NoEarlierRunError extends Error {
  override readonly name = 'NoEarlierRunError';
  readonly code = 'NO_EARLIER_RUN';
}

/**
 * A new run with the rows of the latest: rows that succeeded or were skipped are done, and the rest is retried; with `again` also those
 * whose results are not there any more.
 * @throws NoEarlierRunError; RunFileError; the signal's reason.
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
  again,
  ask,
  unconvertible,
  dryRun,
  writing = firstAttempt,
  signal,
}: ReplanFailedOptions): Promise<PlannedBatch> {
  const ledger = await Ledger.open(files, batchFolder, { writing: dryRun ? undefined : writing, signal });
  if (ledger.run === 0) {
    throw new NoEarlierRunError(
      `${shownFolder(batchFolder)} holds no run of a batch. Start one first: fileconv batch run`,
    );
  }
  const groupOf = sourceGroups(rowsOf(ledger));
  const repeating = { files, rules: { onUnknownOutcome, again }, ask, unconvertible, signal };
  const rows = mapOrdered(rowsOf(ledger), { concurrency: rowsUnderWay, signal }, (row) =>
    replanRow(row, groupOf.get(row.source), repeating),
  );
  const canRun = () => dryRun !== true;
  const written = await writeRun(rows, {
    files,
    batchFolder,
    lastRun: () => ledger.run,
    canRun,
    writing: { ...writing, signal },
  });
  const none = new Findings();
  const leftOut = { repeated: 0, unmodified: 0, unsettled: 0, ownResults: 0 };
  return conclude(written, { problems: none, warnings: none, unread: none, leftOut });
}

/** Those of the latest run. */
function* rowsOf(ledger: Ledger): Generator<LedgerRow> {
  for (const row of ledger.rows()) if (row.run === ledger.run) yield row;
}

/** By source, the number of its first row, where it has several. */
function sourceGroups(rows: Iterable<LedgerRow>): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  const groups = new Map<string, number>();
  let item = 0;
  for (const { source } of rows) {
    item += 1;
    const before = first.get(source);
    if (before === undefined) first.set(source, item);
    else groups.set(source, before);
  }
  return groups;
}

async function replanRow(
  known: LedgerRow,
  sourceGroup: number | undefined,
  { ask, unconvertible, ...repeating }: Repeating & Pick<ReplanFailedOptions, 'ask' | 'unconvertible'>,
): Promise<SettledRow> {
  const { files } = repeating;
  const { source, destination, options, refused } = known;
  const row = { source, ...options, destination };
  if (refused?.isUnclear) return { item: { ...row, refused }, bytes: 0, exists: false, isBad: true };
  const [found, existing] = await Promise.all([lookAtSource(files, source), files.look(destination)]);
  const seen = {
    bytes: found.kind === 'file' ? found.bytes : 0,
    exists: existing.kind !== 'none' || existing.isLink,
  };
  const done = await outcomeOf(known, repeating);
  if (done && !(done.missing && repeating.rules.again)) return { item: { ...row, done }, ...seen };
  const item = { ...row, ...defined({ sourceGroup }), ...(await repeatRow(row, known, repeating)) };
  const bad = item.done || item.kept || item.earlier ? undefined : unusable(found, shownPath(source));
  if (bad) return { item: { ...item, refused: bad }, ...seen, isBad: true };
  return { item: await refuseRow(item, { ask, exists: seen.exists, unconvertible }), ...seen };
}

/** How the latest run ended the row; undefined if it brought no result. */
async function outcomeOf(
  { source: uri, destination, status, delivered }: LedgerRow,
  { files, signal }: Repeating,
): Promise<BatchItem['done']> {
  if (status !== 'succeeded' && status !== 'skipped') return undefined;
  if (delivered) {
    const { source, output, taskId, possiblyChargedTwice, possiblyChargedExtra, warnings } = delivered;
    const [now, isMissing] = [await asItIsNow(files, source, uri), !(await isThere(files, output))];
    const done = { source: now, output, taskId, possiblyChargedTwice, possiblyChargedExtra, warnings };
    return defined({ ...done, missing: isMissing || undefined });
  }
  // Something was at the destination and was to stay: both files are described as they are now.
  const [source, output] = await Promise.all([hashSource(files, uri, signal), hashFile(files, destination, signal)]);
  if (!source || !output) return undefined;
  return { source, output: { uri: destination, name: lastSegment(destination), ...output } };
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
