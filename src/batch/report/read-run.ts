import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import path from 'node:path';
import type { BatchItem, BatchItemResult } from '../../shared/batch';
import { systemErrorCode } from '../../shared/system-error';
import { shellWord } from '../../shared/wording';
import { readLines } from '../lines';
import { parseBatchItem, parseBatchItemResult, RunFileError, runFiles } from '../run-files';

/** A row of the manifest, with its result if it has ended. */
export interface RunRow {
  readonly item: BatchItem;
  readonly result?: BatchItemResult;
}

/**
 * Every row of a run's manifest with its result, in order, one at a time: memory does not grow with the batch. A row
 * without a result has not ended. Rejects with a `RunFileError` if a file is missing; the rows throw one that names
 * the line if it is damaged or out of order.
 */
export async function openRun(folder: string, batch: string): Promise<AsyncIterable<RunRow>> {
  const manifest = path.join(folder, runFiles.manifest);
  const results = path.join(folder, runFiles.results);
  await assertThere(manifest, [
    'MANIFEST_MISSING',
    `Cannot report on batch ${batch}: there is no ${manifest}. Put the run's folder back, or run the batch again.`,
  ]);
  await assertThere(results, [
    'RESULTS_MISSING',
    `Cannot report on batch ${batch}: there is no ${results} yet. It is written when the batch ends; \`fileconv batch watch ${shellWord(batch)}\` shows how far it is.`,
  ]);
  return pairRows(recordsOf(manifest, parseBatchItem), recordsOf(results, parseBatchItemResult));
}

/** A file that is there but cannot be reached, on a network mount for example, may be reached later. */
async function assertThere(file: string, [code, message]: [RunFileError['code'], string]): Promise<void> {
  try {
    await access(file);
  } catch (error) {
    throw systemErrorCode(error) === 'ENOENT' ? new RunFileError(code, message, { cause: error }) : error;
  }
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

function unknownItem(placed: Placed<BatchItemResult>): RunFileError {
  return unreadable(placed, `the manifest has no item ${placed.record.item}`);
}

function unreadable({ file, number }: { file: string; number: number }, why: string, cause?: unknown): RunFileError {
  return new RunFileError(
    'RUN_UNREADABLE',
    `Cannot read line ${number} of ${file}: ${why}. The file was changed or damaged after the batch wrote it; run the batch again to write it anew.`,
    cause === undefined ? undefined : { cause },
  );
}
