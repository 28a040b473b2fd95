import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { BatchState, ConversionBatchResult } from '../../shared/batch';
import { toPath } from '../../storage/file-uri';
import { createLocalFiles } from '../../storage/local-files';
import { pathToFileURL } from 'node:url';
import { csvHeader, csvLines } from './csv';
import { renderPage } from './page/page';
import type { RunRow } from './read-run';
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
}

/** Rows that become CSV at a time. */
const rowsPerChunk = 500;

/**
 * Writes `report.csv`, `report.json` and `report.html` into the run's folder, and answers what they say. Each file is replaced in one
 * step, so that nobody sees half of it; writing them again gives the same. Memory does not grow with the batch.
 *
 * Fails with `BatchReportError` when the run's files are missing or damaged, `StorageError` when the report can't be written.
 */
export async function writeBatchReport(options: BatchReportOptions): Promise<BatchReport> {
  const { batch, state, maxListed = 1_000, timeZone } = options;
  const ui = options.ui && isWebAddress(options.ui.url) ? options.ui : undefined;
  const folder = toPath(options.folder);
  const inFolder = (name: string) => path.join(folder, name);
  const files = {
    csv: inFolder('report.csv'),
    json: inFolder('report.json'),
    html: inFolder('report.html'),
    results: inFolder('results.jsonl'),
  };
  const tally = new Tally(maxListed);
  // Before anything is written: writing makes the folder.
  const run = await openRun(folder, batch);
  try {
    await write(files.csv, csvOf(run.rows, { tally, ui }));
  } finally {
    await run.close();
  }
  const report = composeReport(tally, { batch, state, files, ui });
  await write(files.json, [`${JSON.stringify(report, undefined, 2)}\n`]);
  await write(files.html, [renderPage(report, { bars: tally.durations.bars(24), timeZone })]);
  return report;
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

async function write(file: string, text: Iterable<string> | AsyncIterable<string>): Promise<void> {
  await createLocalFiles().writeDestination({
    uri: pathToFileURL(file).href,
    // Every command that has watched the batch writes its report: none may take another's temporary file for a lost one of its own.
    jobKey: `batch-report ${randomUUID()}`,
    attempt: 1,
    onExisting: 'overwrite',
    body: encoded(text),
  });
}

async function* encoded(text: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const piece of text) yield Buffer.from(piece);
}
