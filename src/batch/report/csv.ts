import { stringify } from 'csv-stringify/sync';
import type { DoneBefore } from '../model/types';
import { defined } from '../../job/defined';
import type { Receipt } from '../model/spending';
import { workflowLink, type TemporalUi } from '../../job/temporal-ui';
import { printable } from '../../messages/wording';
import { shownPath } from '../../storage/file-uri';
import { rowMessage, type RunRow } from './report';

type Cell = string | number | undefined;
interface CsvRow extends RunRow {
  /** A row that was skipped because it was done before has the files of that earlier run. */
  files: Partial<DoneBefore>;
  ui?: TemporalUi;
}

/** The columns of `report.csv`. Scripts read them by name: names never change, new columns come last. */
const cells: Readonly<Record<string, (row: CsvRow) => Cell>> = {
  item: ({ item }) => item.item,
  status: ({ result }) => result?.status,
  source: ({ item }) => text(shownPath(item.source)),
  input: ({ item }) => text(item.input),
  output: ({ item }) => text(item.output),
  destination: ({ item, files }) => text(shownPath(files.output?.uri ?? item.destination)),
  code: ({ result }) => text(result?.code),
  message: (row) => text(rowMessage(row)),
  sourceBytes: ({ files }) => files.source?.bytes,
  outputBytes: ({ files }) => files.output?.bytes,
  sha256: ({ files }) => text(files.output?.sha256),
  vcredits: ({ result }) => result?.vcredits,
  requests: ({ result }) => result?.requests,
  startedAt: ({ result: { startedAt } = {} }) =>
    startedAt === undefined ? undefined : new Date(startedAt).toISOString(),
  durationMs: ({ result }) => result?.durationMs,
  possiblyChargedTwice: ({ result }) => result && String(result.possiblyChargedTwice === true),
  workflowId: ({ result }) => text(result?.workflowId),
  runId: ({ result }) => text(result?.runId),
  link: ({ result: { workflowId, runId } = {}, ui }) =>
    ui && workflowId !== undefined ? workflowLink(ui, workflowId, runId) : undefined,
  phase: ({ result }) => result?.phase,
  taskId: ({ result }) => text(result?.taskId),
  charge: ({ result }) => result?.charge,
  warnings: ({ result }) => text(allWarnings(result?.warnings)),
  kept: ({ result }) => result && String(result.kept === true),
};

export const csvColumns = Object.keys(cells);

const options = {
  columns: csvColumns,
  // RFC 4180.
  record_delimiter: 'windows',
  escape_formulas: true,
} as const;

/** The header, after a byte order mark: without it Excel reads the text as Windows-1252. */
export function csvHeader(): string {
  return stringify([], { ...options, header: true, bom: true });
}

/** One line per row, whatever names and messages contain. */
export function csvLines(rows: readonly RunRow[], ui: TemporalUi | undefined): string {
  const records = rows.map(({ item, result }) => {
    const { output, source } = { ...(result?.status === 'skipped' && item.done), ...result };
    const csvRow = defined({ item, result, files: defined({ output, source }), ui });
    return Object.values(cells).map((cell) => cell(csvRow));
  });
  return stringify(records, options);
}

/** `receipt.csv`: three lines; an empty cell is unknown or not applicable. */
export function receiptCsv(batch: string, { charged, possiblyCharged, notCharged }: Receipt): string {
  const columns = ['batch', 'charge', 'conversions', 'files', 'vcredits', 'vcreditsAtMost', 'suspect'];
  const name = text(batch);
  const lines = [
    { batch: name, charge: 'yes', ...charged },
    { batch: name, charge: 'maybe', ...possiblyCharged },
    { batch: name, charge: 'no', ...notCharged },
  ];
  return stringify(lines, { ...options, columns, header: true, bom: true });
}

function allWarnings(warnings: Readonly<Record<string, string>> | undefined): string | undefined {
  return (
    warnings &&
    Object.entries(warnings)
      .map(([name, advice]) => `${name}: ${advice}`)
      .join(' | ')
  );
}

/**
 * Keeps text from becoming a formula in any spreadsheet. The library escapes a formula at the start of a field; but a
 * spreadsheet with the semicolon as separator, as Excel in much of Europe, starts a cell after each semicolon, and one
 * that reads line by line starts one after each line break.
 */
function text(value: string | undefined): string | undefined {
  return value === undefined
    ? undefined
    : printable(value).replace(/(;[\s"']*)([=+\-@\uff1d\uff0b\uff0d\uff20])/g, "$1'$2");
}
