import { randomUUID } from 'node:crypto';
import type { ConversionBatchResult } from '../model/state';
import type { RunningBatch } from '../model/activities';
import { type TemporalUi, isWebAddress } from '../../job/temporal-ui';
import type { FileStore } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
import { isWithoutJob, withoutJob } from '../batch-steps';
import { writeFile, type Writing } from '../contents';
import { RunFileError, runFiles } from '../run-files';
import { exists, hasEnded, readRows } from '../run-folders';
import { csvHeader, csvLines, receiptCsv } from './csv';
import { renderPage } from './page';
import { type BatchReport, reportPage, type RunRow, Tally, type WaitsFor } from './report';

export interface BatchReportOptions {
  /** The batch's name, which is its workflow id. */
  batch: string;
  /** URI, ending with a slash, of the run's folder, which holds its files and gets the report. */
  folder: string;
  /** The workflow's result. */
  state: ConversionBatchResult;
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
 * Writes `report.csv`, `receipt.csv`, `report.html` and `report.json` into the run's folder, and returns their content. Each file is
 * replaced atomically. Safe to repeat. Memory does not grow with the batch.
 *
 * @throws RunFileError if the run's files are missing or damaged, StorageError if the report cannot be written.
 */
export async function writeBatchReport(files: FileStore, options: BatchReportOptions): Promise<BatchReport> {
  // Every command that watches the batch may write its report, so each needs temporary files of its own.
  const { batch, state, timeZone, writing = { jobKey: `batch-report ${randomUUID()}`, attempt: 1 } } = options;
  const { ui, uris, shown, tally } = settle(options, state);
  // Checked first, because a write would create the folder.
  if (!(await hasEnded(files, options))) {
    const missing = shownPath(options.folder + runFiles.results);
    throw new RunFileError(
      'RUN_MISSING',
      `Cannot report on batch ${batch}: there is no ${missing}. Put the run's folder back, or run the batch again.`,
    );
  }
  await writeFile(files, uris.csv, csvOf(readRows(files, options), { tally, ui }), { writing });
  const report = tally.report(batch, { state, files: shown });
  await writeFile(files, uris.receipt, [receiptCsv(batch, report.receipt)], { writing });
  await writeFile(files, uris.html, [renderPage(report, timeZone)], { writing });
  await writeFile(files, uris.json, [`${JSON.stringify(report, undefined, 2)}\n`], { writing });
  return report;
}

/**
 * Writes only `report.html`, for a running batch, from its parts so far. Throws and writes nothing once the batch has ended, because
 * the final page must stay.
 */
export async function writeRunningPage(
  files: FileStore,
  options: Omit<BatchReportOptions, 'state'> & { state: RunningBatch; waits?: WaitsFor; writing: Writing },
): Promise<void> {
  const { batch, state, waits, timeZone, writing } = options;
  const { uris, shown, tally } = settle(options, { ...state, durationMs: state.at - state.startedAt });
  try {
    for await (const { item, result } of readRows(files, options, writing.signal)) {
      const ended = result ?? (isWithoutJob(item) ? withoutJob(item) : undefined);
      tally.add({ item, ...(ended && { result: ended }) });
    }
  } catch (error) {
    // Damaged files may be why the batch failed; the page is still written.
    if (state.failure === undefined || !(error instanceof RunFileError)) throw error;
  }
  const page = renderPage(tally.progress(batch, { state, files: shown, waits }), timeZone);
  await writeFile(files, uris.html, unlessEnded(), { writing });

  async function* unlessEnded() {
    yield page;
    // Checked just before the file gets its name, because the worker may have been suspended meanwhile.
    if (await hasEnded(files, options)) throw new Error(`Batch ${batch} has ended, and has its last page.`);
  }
}

/** The content of an existing report, recomputed from the rows; undefined if one of its files is missing. */
export async function readBatchReport(files: FileStore, options: BatchReportOptions): Promise<BatchReport | undefined> {
  const { uris, shown, tally } = settle(options, options.state);
  const its = [...Object.values(uris), options.folder + runFiles.results];
  const there = await Promise.all(its.map((uri) => exists(files, uri)));
  if (there.includes(false)) return undefined;
  for await (const row of readRows(files, options)) tally.add(row);
  return tally.report(options.batch, { state: options.state, files: shown });
}

function settle(
  { folder, ui: asked, maxListed = 1_000 }: Pick<BatchReportOptions, 'folder' | 'ui' | 'maxListed'>,
  time: Pick<BatchReport, 'startedAt' | 'durationMs'>,
) {
  const [csv, json, receipt] = [`${folder}report.csv`, `${folder}report.json`, `${folder}receipt.csv`];
  const uris = { csv, json, receipt, html: reportPage(folder) };
  const shown = {
    ...{ csv: shownPath(csv), json: shownPath(json), html: shownPath(uris.html), receipt: shownPath(receipt) },
    results: shownPath(folder + runFiles.results),
  };
  const ui = asked && isWebAddress(asked.url) ? asked : undefined;
  return { ui, uris, shown, tally: new Tally(maxListed, ui, time) };
}

/** The CSV in chunks; tallies every row on the way. */
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
