import { type BatchItem, type BatchItemResult, type BatchItemStatus, countCode } from '../shared/batch';
import type {
  ManifestPosition,
  MergeBatchResultsInput,
  MergeBatchResultsResult,
  PassedOver,
  ReadBatchItemsInput,
  ReadBatchItemsResult,
  RereadBatchItemsInput,
  RereadBatchItemsResult,
  WriteBatchPartInput,
} from '../shared/batch-activities';
import { rowOfEarlier } from '../shared/job-outcome';
import { StorageError } from '../storage/errors';
import type { FileStore } from '../storage/file-store';
import { shownPath } from '../storage/file-uri';
import { writeFile, type Writing } from './contents';
import { addToLedger } from './ledger';
import { jsonLine, readLines } from './lines';
import { parseBatchItem, parseBatchItemResult, partUri, readRecords, RunFileError, runFiles } from './run-files';

/** Size of an activity result, plus at most one more row: Temporal accepts 2 MiB and warns from 512 KiB. */
const maxAnswerBytes = 384 * 1024;

/** The validated rows of a run's manifest from a position on. Throws a RunFileError that names the line. */
async function* readManifest(
  files: FileStore,
  folder: string,
  { from = { byte: 0, item: 0 }, signal }: { from?: ManifestPosition; signal?: AbortSignal | undefined } = {},
) {
  const uri = folder + runFiles.manifest;
  let last = from.item;
  const parse = (line: Buffer): BatchItem => {
    const row = parseBatchItem(line);
    if (row.item <= last) throw new Error(`item ${row.item} does not follow item ${last}`);
    last = row.item;
    return row;
  };
  const damaged = ({ start }: { start: number }, why: string, cause: unknown) =>
    damagedManifest(files, { uri, start, why, cause });
  const records = readRecords(files, uri, { parse, damaged, from: from.byte, signal });
  try {
    for await (const { record: row, start: byte, next } of records) {
      signal?.throwIfAborted();
      yield { row, byte, next };
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof StorageError) || error.code !== 'SOURCE_NOT_FOUND') throw error;
    throw new RunFileError(
      'BATCH_MANIFEST_MISSING',
      `There is no manifest at ${shownPath(uri)}. The worker must see the same folder as whoever started the batch.`,
      { cause: error },
    );
  }
}

/** Reads the next `limit` rows to run; fewer at the manifest's end or if the result gets too large. Safe to repeat. */
export async function readBatchItems(
  files: FileStore,
  { folder, from, limit, checkRows }: ReadBatchItemsInput,
  signal?: AbortSignal,
): Promise<ReadBatchItemsResult> {
  const result: ReadBatchItemsResult = { items: [], next: from, isEnd: true };
  const passedOver: PassedOver = { done: 0, kept: 0, failures: {}, possiblyChargedTwice: 0 };
  let rows = 0;
  let bytes = 0;
  for await (const { row, byte, next } of readManifest(files, folder, { from, signal })) {
    rows += 1;
    const isPassedOver = (row.done ?? row.kept ?? row.refused) !== undefined;
    if (result.isEnd && (isPassedOver || (result.items.length < limit && bytes < maxAnswerBytes))) {
      if (!isPassedOver) {
        result.items.push({ item: row, byte, next });
        bytes += next - byte;
      }
      result.next = { byte: next, item: row.item };
    } else {
      result.isEnd = false;
      if (checkRows === undefined) break;
    }
    countPassedOver(row, passedOver);
  }
  if (checkRows === undefined) return result;
  if (rows !== checkRows) {
    throw new RunFileError(
      'BATCH_MANIFEST_DAMAGED',
      `${shownPath(folder + runFiles.manifest)} has ${rows} rows, and the batch was started with ${checkRows}. Start the batch again from its sources.`,
    );
  }
  return { ...result, passedOver };
}

/** Reads rows again by their byte offsets. Safe to repeat. */
export async function rereadBatchItems(
  files: FileStore,
  { folder, bytes }: RereadBatchItemsInput,
  signal?: AbortSignal,
): Promise<RereadBatchItemsResult> {
  const items: BatchItem[] = [];
  let size = 0;
  for (const byte of bytes) {
    if (size >= maxAnswerBytes) break;
    const found = await rowAt(files, folder, { byte, signal });
    items.push(found.row);
    size += found.next - byte;
  }
  return { items };
}

async function rowAt(
  files: FileStore,
  folder: string,
  { byte, signal }: { byte: number; signal: AbortSignal | undefined },
) {
  for await (const found of readManifest(files, folder, { from: { byte, item: 0 }, signal })) return found;
  throw await damagedManifest(files, { uri: folder + runFiles.manifest, start: byte, why: 'the row is gone' });
}

function countPassedOver({ done, kept, refused }: BatchItem, counts: PassedOver): void {
  if (done) counts.done += 1;
  if (done?.missing) counts.missing = (counts.missing ?? 0) + 1;
  if (kept) counts.kept += 1;
  if (refused?.isSkipped) counts.unconvertible = (counts.unconvertible ?? 0) + 1;
  else if (refused) counts.refused = (counts.refused ?? 0) + 1;
  const failure = kept ?? (refused?.isSkipped ? undefined : refused);
  if (failure) countCode(counts.failures, failure.code);
  if ((done ?? kept)?.possiblyChargedTwice) counts.possiblyChargedTwice += 1;
}

/** Counts lines only for this message: a reader that starts at an offset does not know line numbers. */
async function damagedManifest(
  files: FileStore,
  { uri, start, why, cause }: { uri: string; start: number; why: string; cause?: unknown },
): Promise<RunFileError> {
  let line = 1;
  for await (const { end } of readLines(files.read(uri))) {
    if (end > start) break;
    line += 1;
  }
  return new RunFileError(
    'BATCH_MANIFEST_DAMAGED',
    `${shownPath(uri)}, line ${line}: ${why}. Nobody may change the file while the batch runs; start the batch again from its sources.`,
    { cause },
  );
}

/** Parts follow the manifest's order except for slow jobs, so only a few are in use at a time. */
const partsInMemory = 32;
/** Folders of results from which abandoned temporary files are removed. */
const mostSwept = 1_000;

/**
 * Writes the last part, the ledger of the batch and `results.jsonl`, with exactly one line per row of the manifest, in its order. A row without
 * a result is skipped if it is `done`, failed if it is `kept` or, unless it is skipped, `refused`, and otherwise cancelled, as it never
 * started. Safe to repeat. Memory holds one number per result and a few parts, however large the batch is.
 */
export async function mergeBatchResults(
  files: FileStore,
  { folder, parts, rest }: MergeBatchResultsInput,
  writing: Writing,
): Promise<MergeBatchResultsResult> {
  const lastPart = rest.length === 0 ? parts : parts + 1;
  if (lastPart > parts) await writeBatchPart(files, { folder, part: lastPart, results: rest }, writing);
  const partOf = await indexParts(files, folder, lastPart);
  const counts: Record<BatchItemStatus, number> = { succeeded: 0, failed: 0, skipped: 0, cancelled: 0 };
  const results = folder + runFiles.results;
  const written = new Set<string>();
  await writeFile(files, results, merged(), { writing });
  await addToLedger(files, folder, writing);
  // A failure to tidy up is none of the batch.
  const sweep = (each: string, recursive = false) => files.sweepPartial?.(each, { recursive }).catch(() => undefined);
  await sweep(folder.replace(/\/run-\d+\/$/, '/'), true);
  for (const each of written) await sweep(each);
  return { results, counts };

  async function* merged(): AsyncGenerator<string> {
    const find = recentParts(files, folder);
    let used = 0;
    for await (const { row } of readManifest(files, folder, { signal: writing.signal })) {
      const part = partOf.get(row.item);
      const result = part === undefined ? withoutJob(row) : await find(part, row.item);
      if (part !== undefined) used += 1;
      counts[result.status] += 1;
      if (written.size < mostSwept && !row.refused?.isUnclear) written.add(row.destination.replace(/[^/]*$/, ''));
      yield jsonLine(result);
    }
    if (used !== partOf.size)
      throw damagedParts(folder, `${partOf.size - used} results belong to no row of the manifest`);
  }
}

async function indexParts(files: FileStore, folder: string, parts: number): Promise<Map<number, number>> {
  const partOf = new Map<number, number>();
  for (let part = 1; part <= parts; part += 1) {
    for (const item of (await readBatchPart(files, folder, part)).keys()) {
      const other = partOf.get(item);
      if (other !== undefined)
        throw damagedParts(folder, `item ${item} has two results, in parts ${other} and ${part}`);
      partOf.set(item, part);
    }
  }
  return partOf;
}

/** Finds results; the parts that were used last stay in memory. */
function recentParts(files: FileStore, folder: string) {
  const parts = new Map<number, Map<number, BatchItemResult>>();
  return async (part: number, item: number): Promise<BatchItemResult> => {
    const results = parts.get(part) ?? (await readBatchPart(files, folder, part));
    parts.delete(part);
    parts.set(part, results);
    const [oldest] = parts.keys();
    if (parts.size > partsInMemory && oldest !== undefined) parts.delete(oldest);
    const result = results.get(item);
    if (!result) throw damagedParts(folder, `part ${part} changed while it was read`);
    return result;
  };
}

/** Keeps what earlier runs left open. */
function withoutJob({ item, done, kept, refused, earlier }: BatchItem): BatchItemResult {
  if (done) return { item, status: 'skipped', ...done };
  if (kept) return { item, ...kept, kept: true };
  if (refused) {
    const { code, message, isSkipped } = refused;
    return { item, status: isSkipped ? 'skipped' : 'failed', code, message, charge: 'no' };
  }
  return { item, status: 'cancelled', ...(earlier && rowOfEarlier(earlier)) };
}

function damagedParts(folder: string, why: string): RunFileError {
  return new RunFileError(
    'BATCH_PART_DAMAGED',
    `The results in ${folder}${runFiles.parts} can't be merged: ${why}. The folder of a run belongs to one batch; start the batch again.`,
  );
}

/** Writes one part as a whole. Safe to repeat: replaces an existing part. */
export async function writeBatchPart(
  files: FileStore,
  { folder, part, results }: WriteBatchPartInput,
  writing: Writing,
): Promise<void> {
  await writeFile(files, partUri(folder, part), results.map(jsonLine), { writing });
}

/** The results of one part by item. Throws a RunFileError that names the line. */
async function readBatchPart(files: FileStore, folder: string, part: number): Promise<Map<number, BatchItemResult>> {
  const uri = partUri(folder, part);
  const results = new Map<number, BatchItemResult>();
  const damaged = ({ line }: { line: number }, why: string, cause: unknown) =>
    damagedPart(uri, `line ${line}: ${why}`, cause);
  try {
    for await (const { record } of readRecords(files, uri, { parse: parseBatchItemResult, damaged })) {
      results.set(record.item, record);
    }
  } catch (error) {
    if (error instanceof StorageError && error.code === 'SOURCE_NOT_FOUND') throw damagedPart(uri, 'it is gone', error);
    throw error;
  }
  return results;
}

function damagedPart(uri: string, why: string, cause: unknown): RunFileError {
  return new RunFileError(
    'BATCH_PART_DAMAGED',
    `${shownPath(uri)}: ${why}. The jobs are done; their results are in the Temporal UI. Run the batch again to continue with what is left.`,
    { cause },
  );
}
