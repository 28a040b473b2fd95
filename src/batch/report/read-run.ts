import { open, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { BatchItem, BatchItemResult } from '../../shared/batch';
import { systemErrorCode } from '../../shared/system-error';
import { shellWord } from '../../shared/wording';
import { parseBatchItem, parseBatchItemResult } from '../batch-lines';
import { readLines, type Line } from '../lines';

/** A row of the manifest, with its result if it has ended. */
export interface RunRow {
  readonly item: BatchItem;
  readonly result?: BatchItemResult;
}

interface FileLine extends Line {
  readonly file: string;
}

export interface OpenedRun {
  /**
   * Every row of the manifest with its result, in order, one at a time: memory does not grow with the batch. A row
   * without a result has not ended. Throws a `BatchReportError` that names the line if one is damaged or out of order.
   */
  readonly rows: AsyncIterable<RunRow>;
  close(): Promise<void>;
}

/** Opens the files of a run's folder; throws a `BatchReportError` if one is missing. */
export async function openRun(folder: string, batch: string): Promise<OpenedRun> {
  const manifestFile = path.join(folder, 'manifest.jsonl');
  const resultsFile = path.join(folder, 'results.jsonl');
  const manifest = await openFile(manifestFile, {
    code: 'MANIFEST_MISSING',
    message: `Cannot report on batch ${batch}: there is no ${manifestFile}. Put the run's folder back, or run the batch again.`,
  });
  try {
    const results = await openFile(resultsFile, {
      code: 'RESULTS_MISSING',
      message: `Cannot report on batch ${batch}: there is no ${resultsFile} yet. It is written when the batch ends; \`fileconv batch watch ${shellWord(batch)}\` shows how far it is.`,
    });
    return {
      rows: pairRows(linesOf(manifest, manifestFile), linesOf(results, resultsFile)),
      // Closed here and not at the end of `rows`, which may never be read.
      async close() {
        await Promise.all([manifest.close(), results.close()]);
      },
    };
  } catch (error) {
    await manifest.close();
    throw error;
  }
}

async function* pairRows(items: AsyncGenerator<FileLine>, results: AsyncGenerator<FileLine>): AsyncGenerator<RunRow> {
  let pending = await nextResult(results, 0);
  let last = 0;
  for await (const line of items) {
    const item = parse(parseBatchItem, line);
    assertRising(item.item, last, line);
    last = item.item;
    if (pending !== undefined && pending.result.item < item.item) throw unknownItem(pending);
    if (pending?.result.item !== item.item) {
      yield { item };
      continue;
    }
    yield { item, result: pending.result };
    pending = await nextResult(results, item.item);
  }
  if (pending !== undefined) throw unknownItem(pending);
}

interface ReadResult {
  readonly line: FileLine;
  readonly result: BatchItemResult;
}

async function nextResult(lines: AsyncGenerator<FileLine>, last: number): Promise<ReadResult | undefined> {
  const next = await lines.next();
  if (next.done === true) return undefined;
  const result = parse(parseBatchItemResult, next.value);
  assertRising(result.item, last, next.value);
  return { line: next.value, result };
}

async function openFile(
  file: string,
  missing: { code: 'RESULTS_MISSING' | 'MANIFEST_MISSING'; message: string },
): Promise<FileHandle> {
  try {
    return await open(file);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') throw new BatchReportError({ ...missing, cause: error });
    throw error;
  }
}

/** Skips empty lines. */
async function* linesOf(handle: FileHandle, file: string): AsyncGenerator<FileLine> {
  for await (const line of readLines(handle.createReadStream({ highWaterMark: 256 * 1024 }))) {
    if (line.bytes.length > 0) yield { ...line, file };
  }
}

function parse<Value>(parseLine: (bytes: Buffer) => Value, line: FileLine): Value {
  try {
    return parseLine(line.bytes);
  } catch (error) {
    throw unreadable(line, error instanceof Error ? error.message : String(error), error);
  }
}

function assertRising(item: number, last: number, line: FileLine): void {
  if (item <= last) throw unreadable(line, `item ${item} comes after item ${last}`);
}

function unknownItem({ line, result }: ReadResult): BatchReportError {
  return unreadable(line, `the manifest has no item ${result.item}`);
}

function unreadable({ file, number }: FileLine, why: string, cause?: unknown): BatchReportError {
  return new BatchReportError({
    code: 'RUN_UNREADABLE',
    message: `Cannot read line ${number} of ${file}: ${why}. The file was changed or damaged after the batch wrote it; run the batch again to write it anew.`,
    cause,
  });
}

export const batchReportErrorCodes = [
  /** The run has no results yet: they are merged when the batch ends. */
  'RESULTS_MISSING',
  'MANIFEST_MISSING',
  /** A line of the run's files is not what the batch writes. */
  'RUN_UNREADABLE',
] as const;
type BatchReportErrorCode = (typeof batchReportErrorCodes)[number];

/** The report cannot be made; the message names the file and says what to do. */
export class BatchReportError extends Error {
  override readonly name = 'BatchReportError';
  readonly code: BatchReportErrorCode;

  constructor(fields: { code: BatchReportErrorCode; message: string; cause?: unknown }) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = fields.code;
  }
}
