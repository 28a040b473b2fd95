import { randomUUID } from 'node:crypto';
import type { BatchItem, BatchItemResult, BatchState, ConversionBatchResult } from '../../shared/batch';
import { type TemporalUi, isWebAddress } from '../../shared/temporal-ui';
import { shellWord } from '../../shared/wording';
import type { FileStore } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
import { writeFile, type Writing } from '../contents';
import { parseBatchItem, parseBatchItemResult, readRecords, RunFileError, runFiles } from '../run-files';
import { exists } from '../run-folders';
import { csvHeader, csvLines } from './csv';
import { renderPage } from './page/page';
import { type BatchReport, type RunRow, Tally } from './report';

export interface BatchReportOptions {
  /** The batch's name, which is its workflow id. */
  batch: string;
  /** URI, ending with a slash, of the run's folder, which holds its files and gets the report. */
  folder: string;
  /** The workflow's result, or its state while it runs. */
  state: BatchState | ConversionBatchResult;
  /** Links jobs to their pages. Default: no links. */
  ui?: TemporalUi | undefined;
  /** Maximum number of failures in page and JSON; the CSV lists all. Default: 1,000. */
  maxListed?: number;
  /** For times on the page. Default: this machine's. */
  timeZone?: string;
  /** Names the temporary files. Default: a unique key. */
  writing?: Writing;
}

const rowsPerChunk = 500;

/**
 * Writes `report.csv`, `report.json` and `report.html` into the run's folder, and returns their content. Each file is
 * replaced in one step, so that no reader sees a partial one. Safe to repeat. Memory does not grow with the batch.
 *
 * Throws `RunFileError` if the run's files are missing or damaged, `StorageError` if the report cannot be written.
 */
export async function writeBatchReport(files: FileStore, options: BatchReportOptions): Promise<BatchReport> {
  // Every command that watches the batch may write its report, so each needs temporary files of its own.
  const { batch, state, timeZone, writing = { jobKey: `batch-report ${randomUUID()}`, attempt: 1 } } = options;
  const { ui, uris, shown, tally } = settle(options);
  // Opened before anything is written: writing creates the folder.
  const rows = await openRun(files, options);
  await writeFile(files, uris.csv, csvOf(rows, { tally, ui }), { writing });
  const report = tally.report(batch, { state, files: shown });
  const page = renderPage(report, { bars: tally.durations.bars(24), timeZone });
  await writeFile(files, uris.html, [page], { writing });
  await writeFile(files, uris.json, [`${JSON.stringify(report, undefined, 2)}\n`], { writing });
  return report;
}

/** The content of an existing report, computed again from the rows; undefined if one of its files is missing. */
export async function readBatchReport(files: FileStore, options: BatchReportOptions): Promise<BatchReport | undefined> {
  const { uris, shown, tally } = settle(options);
  const there = await Promise.all([uris.csv, uris.html, uris.json].map((uri) => exists(files, uri)));
  if (there.includes(false)) return undefined;
  for await (const row of await openRun(files, options)) tally.add(row);
  return tally.report(options.batch, { state: options.state, files: shown });
}

export function reportPage(folder: string): string {
  return `${folder}report.html`;
}

function settle({ folder, ui: asked, maxListed = 1_000 }: BatchReportOptions) {
  const uris = { csv: `${folder}report.csv`, json: `${folder}report.json`, html: reportPage(folder) };
  const ui = asked && isWebAddress(asked.url) ? asked : undefined;
  const [csv, json, html] = [shownPath(uris.csv), shownPath(uris.json), shownPath(uris.html)];
  const shown = { csv, json, html, results: shownPath(folder + runFiles.results) };
  return { ui, uris, shown, tally: new Tally(maxListed, ui) };
}

/** The CSV in pieces; tallies every row that passes. */
async function* csvOf(
  rows: AsyncIterable<RunRow>,
  { tally, ui }: { tally: Tally; ui: TemporalUi | undefined },
): AsyncGenerator<string> {
  yield csvHeader();
  let waiting: RunRow[] = [];
  for await (const row of rows) {
    tally.add(row);
    waiting.push(row);
    if (waiting.length < rowsPerChunk) continue;
    yield csvLines(waiting, ui);
    waiting = [];
  }
  if (waiting.length > 0) yield csvLines(waiting, ui);
}

/**
 * Every row of a run's manifest with its result, in order, one at a time: memory does not grow with the batch. A row
 * without a result has not ended. Rejects with a `RunFileError` if a file is missing; the rows throw one that names
 * the line if it is damaged or out of order.
 */
async function openRun(
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
  if (!found.isUnseen) throw new RunFileError(code, message);
  throw new Error(`${shownPath(uri)} ${found.reason}.`);
}

async function* pairRows(items: Recorded<BatchItem>, results: Recorded<BatchItemResult>): AsyncGenerator<RunRow> {
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

type Recorded<Value> = AsyncGenerator<{ record: Value; line: number; uri: string }, undefined>;

/** The records of a file by ascending item, skipping empty lines. */
async function* recordsOf<Value extends { item: number }>(
  files: FileStore,
  uri: string,
  parseLine: (bytes: Buffer) => Value,
): Recorded<Value> {
  let last = 0;
  const parse = (bytes: Buffer): Value => {
    const record = parseLine(bytes);
    if (record.item <= last) throw new Error(`item ${record.item} comes after item ${last}`);
    last = record.item;
    return record;
  };
  const damaged = ({ line }: { line: number }, why: string, cause: unknown) => unreadable({ uri, line }, why, cause);
  for await (const placed of readRecords(files, uri, { parse, damaged, skipsEmpty: true })) yield { ...placed, uri };
}

function unknownItem({ record, ...at }: { record: BatchItemResult; uri: string; line: number }): RunFileError {
  return unreadable(at, `the manifest has no item ${record.item}`);
}

function unreadable({ uri, line }: { uri: string; line: number }, why: string, cause?: unknown): RunFileError {
  return new RunFileError(
    'RUN_UNREADABLE',
    `Cannot read line ${line} of ${shownPath(uri)}: ${why}. The file was changed or damaged after the batch wrote it; run the batch again to rewrite it.`,
    { cause },
  );
}
