import { randomUUID } from 'node:crypto';
import type { BatchState, ConversionBatchResult } from '../../shared/batch';
import { type TemporalUi, isWebAddress } from '../../shared/temporal-ui';
import type { FileStore } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
import { runFiles } from '../run-files';
import { exists } from '../runs/run-folders';
import { writeFile, type Writing } from '../write-file';
import { csvHeader, csvLines } from './csv';
import { renderPage } from './page/page';
import { openRun, type RunRow } from './read-run';
import { type BatchReport, composeReport } from './report';
import { Tally } from './tally';

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

/** In the order of writing: if the last one exists, all do. */
const names = { csv: 'report.csv', html: 'report.html', json: 'report.json' } as const;

/** Rows converted to CSV at a time. */
const rowsPerChunk = 500;

/**
 * Writes `report.csv`, `report.json` and `report.html` into the run's folder, and returns their content. Each file is
 * replaced in one step, so that no reader sees a partial one. Safe to repeat. Memory does not grow with the batch.
 *
 * Throws `RunFileError` if the run's files are missing or damaged, `StorageError` if the report cannot be written.
 */
export async function writeBatchReport(files: FileStore, options: BatchReportOptions): Promise<BatchReport> {
  // Every command that watches the batch may write its report, so each needs temporary files of its own.
  const { timeZone, writing = { jobKey: `batch-report ${randomUUID()}`, attempt: 1 } } = options;
  const { ui, uris, shown, tally } = settle(options);
  // Opened before anything is written: writing creates the folder.
  const rows = await openRun(files, options);
  await writeFile(files, uris.csv, csvOf(rows, { tally, ui }), { writing });
  const report = composeReport(tally, { ...options, files: shown, ui });
  const page = renderPage(report, { bars: tally.durations.bars(24), timeZone });
  await writeFile(files, uris.html, [page], { writing });
  await writeFile(files, uris.json, [`${JSON.stringify(report, undefined, 2)}\n`], { writing });
  return report;
}

/** The content of an existing report, computed again from the rows; undefined if one of its files is missing. */
export async function readBatchReport(files: FileStore, options: BatchReportOptions): Promise<BatchReport | undefined> {
  const { ui, uris, shown, tally } = settle(options);
  const there = await Promise.all([uris.csv, uris.html, uris.json].map((uri) => exists(files, uri)));
  if (there.includes(false)) return undefined;
  for await (const row of await openRun(files, options)) tally.add(row);
  return composeReport(tally, { ...options, files: shown, ui });
}

/** URI of the page of a run's report. */
export function reportPage(folder: string): string {
  return folder + names.html;
}

function settle({ folder, ui, maxListed = 1_000 }: BatchReportOptions) {
  const [csv, json, html] = [folder + names.csv, folder + names.json, reportPage(folder)];
  const shown = {
    csv: shownPath(csv),
    json: shownPath(json),
    html: shownPath(html),
    results: shownPath(folder + runFiles.results),
  };
  const tally = new Tally(maxListed);
  return { ui: ui && isWebAddress(ui.url) ? ui : undefined, uris: { csv, json, html }, shown, tally };
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
