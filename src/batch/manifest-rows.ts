import { type BatchItem, countCode } from '../shared/batch';
import type {
  ManifestPosition,
  PassedOver,
  ReadBatchItemsInput,
  ReadBatchItemsResult,
  RereadBatchItemsInput,
  RereadBatchItemsResult,
} from '../shared/batch-activities';
import { StorageError } from '../storage/errors';
import type { FileStore } from '../storage/file-store';
import { shownPath } from '../storage/file-uri';
import { readLines } from './lines';
import { parseBatchItem, RunFileError, runFiles } from './run-files';

/** Size of an activity result, plus at most one more row: Temporal accepts 2 MiB and warns from 512 KiB. */
const maxAnswerBytes = 384 * 1024;

/** A row, and the byte offsets of its line and of the next one. */
export interface ManifestRow {
  row: BatchItem;
  byte: number;
  next: number;
}

/** The validated rows of a run's manifest from a position on. Throws a RunFileError that names the line. */
export async function* readManifest(
  files: FileStore,
  folder: string,
  { from = { byte: 0, item: 0 }, signal }: { from?: ManifestPosition; signal?: AbortSignal | undefined } = {},
): AsyncGenerator<ManifestRow> {
  const uri = folder + runFiles.manifest;
  let { byte: start, item: last } = from;
  try {
    for await (const { bytes, end } of readLines(files.read(uri, { start, signal }))) {
      signal?.throwIfAborted();
      let row: BatchItem;
      try {
        row = parseBatchItem(bytes);
        if (row.item <= last) throw new Error(`item ${row.item} does not follow item ${last}`);
      } catch (cause) {
        throw await damaged(files, { uri, start, cause });
      }
      const next = from.byte + end;
      yield { row, byte: start, next };
      last = row.item;
      start = next;
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
): Promise<ManifestRow> {
  for await (const found of readManifest(files, folder, { from: { byte, item: 0 }, signal })) return found;
  throw await damaged(files, { uri: folder + runFiles.manifest, start: byte, cause: new Error('the row is gone') });
}

function countPassedOver({ done, kept, refused }: BatchItem, counts: PassedOver): void {
  if (done) counts.done += 1;
  if (kept) counts.kept += 1;
  if (refused?.isSkipped) counts.unconvertible = (counts.unconvertible ?? 0) + 1;
  else if (refused) counts.refused = (counts.refused ?? 0) + 1;
  const failure = kept ?? (refused?.isSkipped ? undefined : refused);
  if (failure) countCode(counts.failures, failure.code);
  if ((done ?? kept)?.possiblyChargedTwice) counts.possiblyChargedTwice += 1;
}

/** Counts lines only for this message: a reader that starts at an offset does not know line numbers. */
async function damaged(
  files: FileStore,
  { uri, start, cause }: { uri: string; start: number; cause: unknown },
): Promise<RunFileError> {
  let line = 1;
  for await (const { end } of readLines(files.read(uri))) {
    if (end > start) break;
    line += 1;
  }
  const why = cause instanceof Error ? cause.message : String(cause);
  return new RunFileError(
    'BATCH_MANIFEST_DAMAGED',
    `${shownPath(uri)}, line ${line}: ${why}. Nobody may change the file while the batch runs; start the batch again from its sources.`,
    { cause },
  );
}
