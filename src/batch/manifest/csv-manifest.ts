import { Readable } from 'node:stream';
import { parse, type CsvError, type Info } from 'csv-parse';
import { peek } from '../../storage/peek';
import { decodeText, decodeWindows1252 } from '../lines';
import {
  manifestColumns,
  checkRow,
  type BadRow,
  suggestColumn,
  type ManifestColumn,
  type ManifestReading,
  type ManifestRow,
  type RawRow,
} from './manifest-row';

/** Paths are at most 4 KiB: a longer record is an unclosed quote. */
const maxRecordBytes = 64 * 1024;

/** With `encoding: null` the parser returns raw bytes, so that the field that is not UTF-8 can be named. */
interface CsvRecord {
  record: Buffer[];
  info: Info;
}

/** The rows of a CSV manifest with a header row; each error outside of a row becomes a finding. */
export async function* readCsvManifest(
  chunks: AsyncIterable<Buffer>,
  reading: ManifestReading,
): AsyncGenerator<ManifestRow | BadRow> {
  const { name, findings } = reading;
  let columns: readonly (ManifestColumn | undefined)[] | undefined;
  let lastLine = 0;
  let failure: { code: string; line: number; message: string } | undefined;
  const { head, all } = await peek(chunks, (seen) => seen.length >= maxRecordBytes || hasTwoLines(seen));
  const form = csvFormOf(head.toString('latin1'));
  const decode = createDecoder(reading);
  const input = Readable.from(all);
  const parser = parse({
    delimiter: form.separator,
    from_line: form.firstLine,
    encoding: null,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxRecordBytes,
    // An error would also discard the records before it that were not read yet.
    skip_records_with_error: true,
  });
  parser.on('skip', ({ code, message, ['lines']: line }: CsvError) => {
    if (failure) return;
    failure = { code, message, line: Number(line) };
    // After a misplaced quote the boundaries of records are unknown.
    input.unpipe(parser);
    setImmediate(() => parser.end());
  });
  input.on('error', (error) => parser.destroy(error));
  try {
    for await (const { record, info } of input.pipe(parser) as AsyncIterable<CsvRecord>) {
      const line = info.lines - lineBreaksIn(record);
      if (failure && line >= failure.line) break;
      lastLine = info.lines;
      if (columns) {
        yield rowOf(record, { line, columns, form, decode, reading });
      } else {
        columns = readHeader(record, { line, reading });
        if (!columns) return;
      }
    }
  } finally {
    input.destroy();
  }
  if (failure) {
    findings.add('MANIFEST_INVALID', `${name} ${explain(failure, lastLine)} What follows was not checked.`);
    return;
  }
  if (!columns) findings.add('MANIFEST_INVALID', `${name} is empty. Its first line names the columns: source,output`);
}

/** The column of each field; undefined if rows cannot be read with this header. */
function readHeader(
  record: readonly Buffer[],
  { line, reading: { name, defaultOutput, findings } }: { line: number; reading: ManifestReading },
): (ManifestColumn | undefined)[] | undefined {
  const before = findings.count;
  const problem = (what: string) => findings.add('MANIFEST_INVALID', `${name} line ${line}: ${what}`);
  const names = record.map((field) => decodeText(field)?.trim() ?? '\ufffd');
  const columns = names.map((text, index) => {
    const column = manifestColumns.find((known) => known === text.toLowerCase());
    if (column === undefined) {
      const what = text === '' ? `column ${index + 1} has no name.` : `there is no column ${JSON.stringify(text)}.`;
      problem(`${what} ${suggestColumn(text, 'column')}`);
    } else if (names.findIndex((other) => other.toLowerCase() === column) < index) {
      problem(`column ${column} appears twice. Remove one.`);
    }
    return column;
  });
  if (findings.count > before) return undefined;
  if (!columns.includes('source')) problem('column source is missing. It names the file to convert.');
  if (!columns.includes('output') && defaultOutput === undefined) {
    problem('column output is missing. Add it, or name one format for all rows with --to.');
  }
  return findings.count > before ? undefined : columns;
}

interface RowReading {
  line: number;
  columns: readonly (ManifestColumn | undefined)[];
  form: CsvForm;
  decode: ReturnType<typeof createDecoder>;
  reading: ManifestReading;
}

function rowOf(record: readonly Buffer[], { line, columns, form, decode, reading }: RowReading): ManifestRow | BadRow {
  const problems: string[] = [];
  const problem = (what: string) => problems.push(`${reading.name} line ${line}${what}`);
  const raw: RawRow = {};
  if (record.slice(columns.length).some((field) => field.length > 0)) {
    const counts = `there are ${record.length} values for ${columns.length} columns`;
    problem(`: ${counts}. Put a value with a ${form.separatorName} in quotes.`);
  }
  for (const [index, column] of columns.entries()) {
    const field = record[index];
    if (column === undefined || field === undefined) continue;
    const text = decode(field, line);
    if (text === undefined) problem(`, column ${column}: the bytes are not UTF-8. Save the file as CSV in UTF-8.`);
    else raw[column] = text;
  }
  return problems.length > 0 ? { line, problem: problems.join(' ') } : checkRow(raw, { line, term: 'column', reading });
}

/** Decodes UTF-8 or else Windows-1252, as Western spreadsheet programs write CSV; warns of the first such line. */
function createDecoder({ name, warnings }: ManifestReading): (field: Buffer, line: number) => string | undefined {
  let warned = false;
  return (field, line) => {
    const text = decodeText(field);
    if (text !== undefined) return text;
    const guess = decodeWindows1252(field);
    if (guess !== undefined && !warned) {
      warned = true;
      warnings.add(
        'ENCODING_GUESSED',
        `${name} line ${line} is not UTF-8; it is read as Windows-1252. Save the file in UTF-8 if names are wrong.`,
      );
    }
    return guess;
  };
}

function hasTwoLines(seen: Buffer): boolean {
  const first = seen.indexOf(0x0a);
  return first >= 0 && seen.includes(0x0a, first + 1);
}

function lineBreaksIn(record: readonly Buffer[]): number {
  let breaks = 0;
  for (const field of record) {
    for (let at = field.indexOf(0x0a); at >= 0; at = field.indexOf(0x0a, at + 1)) breaks += 1;
  }
  return breaks;
}

function explain({ code, line, message }: { code: string; line: number; message: string }, lastLine: number): string {
  switch (code) {
    case 'CSV_MAX_RECORD_SIZE':
      return `line ${lastLine + 1}: the row is longer than ${maxRecordBytes / 1024} KiB. Shorten it, or close a quote that opens there, or soon after.`;
    case 'CSV_QUOTE_NOT_CLOSED':
      // The error's own line is where the parser gave up.
      return `line ${lastLine + 1}: a quote that opens there, or soon after, is never closed. Close it, and write a quote inside quotes twice.`;
    case 'CSV_INVALID_CLOSING_QUOTE':
      return `line ${line}: something follows a closing quote. Write a quote inside quotes twice.`;
    case 'INVALID_OPENING_QUOTE':
      return `line ${line}: there is a quote inside a value. Put the whole value in quotes, and write the quote twice.`;
    default:
      return `line ${line} is not CSV: ${message}.`;
  }
}

interface CsvForm {
  readonly separator: string;
  readonly separatorName: string;
  /** From 1. */
  readonly firstLine: number;
}

const separators = [
  { separator: ',', separatorName: 'comma' },
  { separator: ';', separatorName: 'semicolon' },
  { separator: '\t', separatorName: 'tab' },
] as const;

/**
 * Spreadsheet programs write semicolons in locales with a decimal comma. The separator is not guessed: it follows from
 * the known names in the header, or from a line `sep=;` before it, which these programs also write.
 *
 * @param head the beginning of the manifest, at least two lines.
 */
function csvFormOf(head: string): CsvForm {
  const named = /^"?sep=([,;\t])"?[\r\n]/i.exec(head)?.[1];
  const header = /^\s*(.*)/.exec(head)?.[1] ?? '';
  const [best] = separators
    .map((each) => ({ ...each, columns: header.split(each.separator).filter(isColumn).length }))
    .sort((one, other) => other.columns - one.columns);
  const form = separators.find(({ separator }) => separator === (named ?? best?.separator)) ?? separators[0];
  return { ...form, firstLine: named === undefined ? 1 : 2 };
}

function isColumn(name: string): boolean {
  const bare = name.replace(/^\s*"?|"?\s*$/g, '').toLowerCase();
  return manifestColumns.some((column) => column === bare.trim());
}
