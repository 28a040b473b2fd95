import type { BatchItem, BatchItemResult } from '../../shared/batch';
import { shellWord } from '../../shared/wording';
import type { FileStore } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
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
export async function openRun(
  files: FileStore,
  { folder, batch }: { folder: string; batch: string },
): Promise<AsyncIterable<RunRow>> {
  const [manifest, results] = [folder + runFiles.manifest, folder + runFiles.results];
  await assertThere(files, manifest, [
    'MANIFEST_MISSING',
    `Cannot report on batch ${batch}: there is no ${shownPath(manifest)}. Put the run's folder back, or run the batch again.`,
  ]);
  await assertThere(files, results, [
    'RESULTS_MISSING',
    `Cannot report on batch ${batch}: there is no ${shownPath(results)} yet. It is written when the batch ends; \`fileconv batch watch ${shellWord(batch)}\` shows how far it is.`,
  ]);
  return pairRows(recordsOf(files, manifest, parseBatchItem), recordsOf(files, results, parseBatchItemResult));
}

/** A file that is there but cannot be reached, on a network mount for example, may be reached later. */
async function assertThere(
  files: FileStore,
  uri: string,
  [code, message]: [RunFileError['code'], string],
): Promise<void> {
  const found = await files.look(uri);
  if (found.kind !== 'none') return;
  if (found.reason === 'does not exist') throw new RunFileError(code, message);
  throw new Error(`${shownPath(uri)} ${found.reason}.`);
}

interface Placed<Value> {
  readonly record: Value;
  readonly uri: string;
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
  files: FileStore,
  uri: string,
  parse: (bytes: Buffer) => Value,
): AsyncGenerator<Placed<Value>, undefined> {
  let last = 0;
  for await (const { bytes, number } of readLines(files.read(uri))) {
    if (bytes.length === 0) continue;
    let record: Value;
    try {
      record = parse(bytes);
    } catch (error) {
      throw unreadable({ uri, number }, error instanceof Error ? error.message : String(error), error);
    }
    if (record.item <= last) throw unreadable({ uri, number }, `item ${record.item} comes after item ${last}`);
    last = record.item;
    yield { record, uri, number };
  }
}

function unknownItem(placed: Placed<BatchItemResult>): RunFileError {
  return unreadable(placed, `the manifest has no item ${placed.record.item}`);
}

function unreadable({ uri, number }: { uri: string; number: number }, why: string, cause?: unknown): RunFileError {
  return new RunFileError(
    'RUN_UNREADABLE',
    `Cannot read line ${number} of ${shownPath(uri)}: ${why}. The file was changed or damaged after the batch wrote it; run the batch again to write it anew.`,
    cause === undefined ? undefined : { cause },
  );
}
