import { stringify } from 'csv-stringify/sync';
import { workflowLink, type TemporalUi } from '../../shared/temporal-ui';
import { printable } from '../../shared/wording';
import { shownPath } from '../../storage/file-uri';
import type { RunRow } from './read-run';

/** The columns of `report.csv`. Scripts read them by name: names never change, new columns come last. */
export const csvColumns = [
  'item',
  'status',
  'source',
  'input',
  'output',
  'destination',
  'code',
  'message',
  'sourceBytes',
  'outputBytes',
  'sha256',
  'vcredits',
  'requests',
  'startedAt',
  'durationMs',
  'possiblyChargedTwice',
  'workflowId',
  'runId',
  'link',
  'phase',
  'taskId',
  'charge',
  'warnings',
  'kept',
] as const;

type Column = (typeof csvColumns)[number];
type Cell = string | number | undefined;

const options = {
  columns: [...csvColumns],
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
  return stringify(
    rows.map((row) => recordOf(row, ui)),
    options,
  );
}

function recordOf({ item, result }: RunRow, ui: TemporalUi | undefined): Record<Column, Cell> {
  // A row that was skipped because it was done before has the result of that run.
  const output = result?.output ?? (result?.status === 'skipped' ? item.done?.output : undefined);
  const source = result?.source ?? (result?.status === 'skipped' ? item.done?.source : undefined);
  const { workflowId, runId } = result ?? {};
  return {
    item: item.item,
    status: result?.status ?? 'unfinished',
    source: text(shownPath(item.source)),
    input: text(item.input),
    output: text(item.output),
    destination: text(shownPath(output?.uri ?? item.destination)),
    code: text(result?.code),
    message: text(result?.message),
    sourceBytes: source?.bytes,
    outputBytes: output?.bytes,
    sha256: text(output?.sha256),
    vcredits: result?.vcredits,
    requests: result?.requests,
    startedAt: result?.startedAt === undefined ? undefined : new Date(result.startedAt).toISOString(),
    durationMs: result?.durationMs,
    possiblyChargedTwice: result === undefined ? undefined : String(result.possiblyChargedTwice === true),
    workflowId: text(workflowId),
    runId: text(runId),
    link: ui && workflowId !== undefined ? workflowLink(ui, workflowId, runId) : undefined,
    phase: result?.phase,
    taskId: text(result?.taskId),
    charge: result?.charge,
    warnings: text(allWarnings(result?.warnings)),
    kept: result === undefined ? undefined : String(result.kept === true),
  };
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
