import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { BatchState, ConversionBatchResult } from '../../shared/batch';
import { toPath } from '../../storage/file-uri';
import { writeLocalFile } from '../../storage/write';
import { pathToFileURL } from 'node:url';
import type { Writing } from '../part-files';
import { runFiles } from '../run-files';
import { exists } from '../runs/run-folders';
import { csvHeader, csvLines } from './csv';
import { renderPage } from './page/page';
import type { OpenedRun, RunRow } from './read-run';
import { openRun } from './read-run';
import type { BatchReport } from './report';
import { composeReport } from './report';
import { Tally } from './tally';
import type { TemporalUi } from './workflow-link';
import { isWebAddress } from './workflow-link';

export interface BatchReportOptions {
  /** The batch's name, which is its workflow's id. */
  batch: string;
  /** `file:` URI, ending with a slash, of the run's folder. Holds `manifest.jsonl` and `results.jsonl`, and takes the report. */
  folder: string;
  /** Of the workflow: its result, or its state while it runs. */
  state: BatchState | ConversionBatchResult;
  /** Jobs are linked to their pages there. Default: no links. */
  ui?: TemporalUi | undefined;
  /** Failures that page and JSON list; the CSV lists all. Default: 1,000. */
  maxListed?: number;
  /** Of the times on the page. Default: this machine's. */
  timeZone?: string;
  /** Names temporary files. Default: nobody else's. */
  writing?: Writing;
}

/** In the order in which they are written: where there is the last one there are all. */
const names = { csv: 'report.csv', html: 'report.html', json: 'report.json' } as const;

/** Rows that become CSV at a time. */
const rowsPerChunk = 500;

/**
 * Writes `report.csv`, `report.json` and `report.html` into the run's folder, and answers what they say. Each file is replaced in one
 * step, so that nobody sees half of it; writing them again gives the same. Memory does not grow with the batch.
 *
 * Fails with `BatchReportError` when the run's files are missing or damaged, `StorageError` when the report can't be written.
 */
export async function writeBatchReport(options: BatchReportOptions): Promise<BatchReport> {
  // Every command that has watched the batch may write its report: none may take another's temporary file for a lost one of its own.
  const { timeZone, writing = { jobKey: `batch-report ${randomUUID()}`, attempt: 1 } } = options;
  const { ui, files, tally } = settle(options);
  await withRun(options, (run) => write(files.csv, csvOf(run.rows, { tally, ui }), writing));
  const report = composeReport(tally, { ...options, files, ui });
  await write(files.html, [renderPage(report, { bars: tally.durations.bars(24), timeZone })], writing);
  await write(files.json, [`${JSON.stringify(report, undefined, 2)}\n`], writing);
  return report;
}

/** What the report says, from the rows that it was made of, when it is there; undefined when a part of it is not. */
export async function readBatchReport(options: BatchReportOptions): Promise<BatchReport | undefined> {
  const { ui, files, tally } = settle(options);
  const there = await Promise.all([files.csv, files.html, files.json].map(exists));
  if (there.includes(false)) return undefined;
  await withRun(options, async (run) => {
    for await (const row of run.rows) tally.add(row);
  });
  return composeReport(tally, { ...options, files, ui });
}

function settle({ folder: uri, ui, maxListed = 1_000 }: BatchReportOptions) {
  const inFolder = (name: string) => path.join(toPath(uri), name);
  const files = {
    csv: inFolder(names.csv),
    json: inFolder(names.json),
    html: inFolder(names.html),
    results: inFolder(runFiles.results),
  };
  return { ui: ui && isWebAddress(ui.url) ? ui : undefined, files, tally: new Tally(maxListed) };
}

/** Opened before anything is written: writing makes the folder. */
async function withRun(
  { folder, batch }: BatchReportOptions,
  use: (run: OpenedRun) => Promise<unknown>,
): Promise<void> {
  const run = await openRun(toPath(folder), batch);
  try {
    await use(run);
  } finally {
    await run.close();
  }
}

/** The CSV in pieces; every row that goes by is added up. */
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

async function write(file: string, text: Iterable<string> | AsyncIterable<string>, writing: Writing): Promise<void> {
  await writeLocalFile({
    ...writing,
    uri: pathToFileURL(file).href,
    onExisting: 'overwrite',
    body: encoded(text),
  });
}

async function* encoded(text: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const piece of text) yield Buffer.from(piece);
}
