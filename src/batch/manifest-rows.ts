import { createReadStream } from 'node:fs';
import type { BatchItem } from '../shared/batch';
import type { ReadBatchItemsInput, ReadBatchItemsResult } from '../shared/batch-activities';
import { systemErrorCode } from '../shared/system-error';
import { toPath } from '../storage/file-uri';
import { parseBatchItem } from './batch-lines';
import { readLines } from './lines';
import { RunFileError } from './run-file-error';
import { runFiles } from './run-files';

const chunkBytes = 256 * 1024;

/** A row, and the byte after its line. */
export interface ManifestRow {
  row: BatchItem;
  next: number;
}

/**
 * The rows of a run's manifest from a place on, each checked.
 * @throws RunFileError that names the line.
 */
export async function* readManifest(
  folder: string,
  from = { byte: 0, item: 0 },
  signal?: AbortSignal,
): AsyncGenerator<ManifestRow> {
  const filePath = toPath(new URL(runFiles.manifest, folder).href);
  let { byte: start, item: last } = from;
  try {
    for await (const { bytes, end } of readLines(openFrom(filePath, from.byte))) {
      signal?.throwIfAborted();
      const row = parseBatchItem(bytes);
      const next = from.byte + end;
      if (row.item <= last) throw new Error(`item ${row.item} does not follow item ${last}`);
      yield { row, next };
      last = row.item;
      start = next;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof RunFileError) throw error;
    if (systemErrorCode(error) === 'ENOENT' || systemErrorCode(error) === 'ENOTDIR') throw missing(filePath, error);
    if (systemErrorCode(error) !== undefined) throw error;
    throw await damaged({ filePath, start }, error);
  }
}

/** Reads on from a place: so many items that still have to run, fewer at the manifest's end. Repeat-safe. */
export async function readBatchItems(
  { folder, from, limit, checkRows }: ReadBatchItemsInput,
  signal?: AbortSignal,
): Promise<ReadBatchItemsResult> {
  const result: ReadBatchItemsResult = { items: [], next: from, isEnd: true };
  let rows = 0;
  let done = 0;
  for await (const { row, next } of readManifest(folder, from, signal)) {
    rows += 1;
    if (result.isEnd && (row.done || result.items.length < limit)) {
      if (!row.done) result.items.push({ item: row, next });
      result.next = { byte: next, item: row.item };
    } else {
      result.isEnd = false;
      if (checkRows === undefined) break;
    }
    if (row.done) done += 1;
  }
  if (checkRows === undefined) return result;
  if (rows !== checkRows) {
    throw new RunFileError(
      'BATCH_MANIFEST_DAMAGED',
      `${toPath(new URL(runFiles.manifest, folder).href)} has ${rows} rows, and the batch was started with ${checkRows}. Start the batch again from its sources.`,
    );
  }
  return { ...result, done };
}

function openFrom(filePath: string, start: number): AsyncIterable<Buffer> {
  return createReadStream(filePath, { start, highWaterMark: chunkBytes });
}

function missing(filePath: string, cause: unknown): RunFileError {
  return new RunFileError(
    'BATCH_MANIFEST_MISSING',
    `There is no manifest at ${filePath}. The worker must see the same folder as whoever started the batch.`,
    { cause },
  );
}

/** Lines are counted only for this message: reading on from a byte does not know their number. */
async function damaged(
  { filePath, start }: { filePath: string; start: number },
  cause: unknown,
): Promise<RunFileError> {
  let line = 1;
  for await (const { end } of readLines(openFrom(filePath, 0))) {
    if (end > start) break;
    line += 1;
  }
  const why = cause instanceof Error ? cause.message : String(cause);
  return new RunFileError(
    'BATCH_MANIFEST_DAMAGED',
    `${filePath}, line ${line}: ${why}. Nobody may change the file while the batch runs; start the batch again from its sources.`,
    { cause },
  );
}
