import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { BatchItem, BatchItemResult } from '../../shared/batch';
import { shellWord } from '../../shared/wording';
import { parseBatchItem, parseBatchItemResult } from '../batch-lines';
import { readLines } from '../lines';
import { runFiles } from '../run-files';
import { exists } from '../runs/run-folders';

/** A row of the manifest, with its result if it has ended. */
export interface RunRow {
  readonly item: BatchItem;
  readonly result?: BatchItemResult;
}

/**
 * Every row of a run's manifest with its result, in order, one at a time: memory does not grow with the batch. A row
 * without a result has not ended. Rejects with a `BatchReportError` if a file is missing; the rows throw one that names
 * the line if it is damaged or out of order.
 */
export async function openRun(folder: string, batch: string): Promise<AsyncIterable<RunRow>> {
  const manifest = path.join(folder, runFiles.manifest);
  const results = path.join(folder, runFiles.results);
  if (!(await exists(manifest))) {
    throw new BatchReportError({
      code: 'MANIFEST_MISSING',
      message: `Cannot report on batch ${batch}: there is no ${manifest}. Put the run's folder back, or run the batch again.`,
    });
  }
  if (!(await exists(results))) {
    throw new BatchReportError({
      code: 'RESULTS_MISSING',
      message: `Cannot report on batch ${batch}: there is no ${results} yet. It is written when the batch ends; \`fileconv batch watch ${shellWord(batch)}\` shows how far it is.`,
    });
  }
  return pairRows(recordsOf(manifest, parseBatchItem), recordsOf(results, parseBatchItemResult));
}

interface Placed<Value> {
  readonly record: Value;
  readonly file: string;
  readonly number: number;
}

async function* pairRows(
  items: AsyncGenerator<Placed<BatchItem>>,
  results: AsyncGenerator<Placed<BatchItemResult>, undefined>,
): AsyncGenerator<RunRow> {
  try {
    let { value: pending } = await results.next();
    for await (const { record: item } of items) {
      if (pending && pending.record.item < item.item) throw unknownItem(pending);
      if (pending?.record.item !== item.item) {
        yield { item };
        continue;
      }
      yield { item, result: pending.record };
      ({ value: pending } = await results.next());
    }
    if (pending) throw unknownItem(pending);
  } finally {
    await results.return(undefined);
  }
}

/** The records of a file by ascending item, skipping empty lines. */
async function* recordsOf<Value extends { item: number }>(
  file: string,
  parse: (bytes: Buffer) => Value,
): AsyncGenerator<Placed<Value>, undefined> {
  let last = 0;
  for await (const { bytes, number } of readLines(createReadStream(file, { highWaterMark: 256 * 1024 }))) {
    if (bytes.length === 0) continue;
    let record: Value;
    try {
      record = parse(bytes);
    } catch (error) {
      throw unreadable({ file, number }, error instanceof Error ? error.message : String(error), error);
    }
    if (record.item <= last) throw unreadable({ file, number }, `item ${record.item} comes after item ${last}`);
    last = record.item;
    yield { record, file, number };
  }
}

function unknownItem(placed: Placed<BatchItemResult>): BatchReportError {
  return unreadable(placed, `the manifest has no item ${placed.record.item}`);
}

function unreadable(
  { file, number }: { file: string; number: number },
  why: string,
  cause?: unknown,
): BatchReportError {
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
