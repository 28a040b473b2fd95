import { CsvError, type Options, parse } from 'csv-parse/sync';
import { ConversionFailure, type Warnings } from '../conversion';
import { requireFewCells, tableDocument } from '../documents/pandoc-document';

/** Readers of such files tolerate empty lines, rows of any length, and quotes within a value. */
const lenient: Options = { relax_column_count: true, relax_quotes: true, skip_empty_lines: true };

/** A CSV or TSV file as a pandoc document (JSON): one table, whose first row is its head. */
export function separatedValuesDocument(
  source: string,
  { reader, writer }: { reader: string; writer: string },
): { json: string; warnings: Warnings } {
  const { rows, warnings } = readSeparatedValues(source, reader);
  const columns = columnsOf(rows);
  requireFewCells(rows.length * columns, writer);
  const blanks = new Array<string>(columns).fill('');
  const filledUp = rows.map((row) => (row.length < columns ? [...row, ...blanks.slice(row.length)] : row));
  return { json: tableDocument([{ columns, headRows: 1, rows: filledUp }], writer), warnings };
}

export function readSeparatedValues(source: string, reader: string): { rows: string[][]; warnings: Warnings } {
  const { separator, text } = reader === 'tsv' ? { separator: '\t', text: source } : findSeparator(source);
  // Blanks belong to a value (RFC 4180), except those around quotes.
  const quoted = new RegExp(String.raw`(?<=^|[\n${separator}]) *("[^"]*(?:""[^"]*)*") *(?=[\n${separator}]|$)`, 'g');
  const rows = readRows(text.replace(quoted, '$1'), separator).filter(([first = '', ...more]) => {
    return more.length > 0 || first === '' || first.trim() !== '';
  });
  return { rows, warnings: describeLongRows(rows, columnsOf(rows)) };
}

/** The values as a CSV or TSV file (RFC 4180). */
export function writeSeparatedValues(rows: readonly (readonly string[])[], writer: string): string {
  const separator = writer === 'tsv' ? '\t' : ',';
  const written = (value: string) =>
    value.includes(separator) || /["\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  return rows.map((row) => `${row.map(written).join(separator)}\r\n`).join('');
}

function columnsOf(rows: readonly (readonly string[])[]): number {
  return rows.reduce((most, row) => Math.max(most, row.length), 0);
}

function readRows(text: string, delimiter: string): string[][] {
  try {
    return parse(text, { ...lenient, delimiter });
  } catch (error) {
    // Many programs ignore quotes in tab-separated files.
    if (delimiter === '\t') return parse(text, { ...lenient, delimiter, quote: false });
    if (!(error instanceof CsvError) || error.code !== 'CSV_QUOTE_NOT_CLOSED') throw error;
    throw new ConversionFailure(
      `A quote that opens in line ${lineAfterLastRow(text, delimiter)}, or soon after, is never closed. Close it, and write a quote within quotes twice.`,
    );
  }
}

function lineAfterLastRow(text: string, delimiter: string): number {
  let line = 1;
  try {
    parse(text, {
      ...lenient,
      delimiter,
      on_record: (_row, { lines }) => {
        line = lines + 1;
        return null;
      },
    });
  } catch {
    // The caller has seen this error already.
  }
  return line;
}

/** Surplus values often come from an unquoted value that contains a separator. */
function describeLongRows(rows: readonly (readonly string[])[], columns: number): Warnings {
  const named = rows[0]?.length ?? 0;
  if (columns === named) return {};
  const long = rows.filter(({ length }) => length > named).length;
  const message = `${long} row(s) have more values than the first row has columns (${columns}, not ${named}). Put values with a separator in them in quotes.`;
  return { ROWS_TOO_LONG: message };
}

/** Separators of CSV files: commas by name, semicolons where numbers contain commas, tabs, and vertical bars. */
const separators = [
  { separator: ',', name: 'commas', line: 'sep=,' },
  { separator: ';', name: 'semicolons', line: 'sep=;' },
  { separator: '\t', name: 'tabs', line: 'sep= with a tab' },
  { separator: '|', name: 'vertical bars', line: 'sep=|' },
] as const;

/** `counts`: number of separators in each line. */
type Candidate = (typeof separators)[number] & { readonly counts: readonly number[] };

/** The beginning of a long file is enough. */
const sampleLength = 256 * 1024;

const quotedValue = /(?<=^|[,;\t|\n]) *"[^"]*(?:""[^"]*)*"(?= *(?:[,;\t|\n]|$))/g;

/** The separator of a CSV file, and its text without a leading line `sep=;`. @throws ConversionFailure if the file is ambiguous. */
function findSeparator(source: string): { separator: string; text: string } {
  const named = /^"?sep=([,;\t|])"?\n/i.exec(source);
  // The line end stays, to keep line numbers right.
  if (named?.[1] !== undefined) return { separator: named[1], text: source.slice(named[0].length - 1) };
  const separator = guessSeparator(linesOfSample(source));
  return { separator, text: source };
}

/** Lines that are not blank, with their quoted values emptied. */
function linesOfSample(source: string): string[] {
  const end = source.length > sampleLength ? source.lastIndexOf('\n', sampleLength) : source.length;
  const sample = source.slice(0, end === -1 ? sampleLength : end).replace(quotedValue, '""');
  return sample.split('\n').filter((line) => line.trim() !== '');
}

function guessSeparator(lines: readonly string[]): string {
  const first = lines.findIndex((line) => separators.some(({ separator }) => line.includes(separator)));
  if (first === -1) return ',';
  const rows = lines.slice(first);
  const found = separators
    .map((each): Candidate => ({ ...each, counts: rows.map((row) => row.split(each.separator).length - 1) }))
    .filter(({ counts }) => counts.some((count) => count > 0))
    .filter((each, _index, all) => each.separator !== '|' || separatesAlone(each, all));
  if (found.length === 0) return ',';
  const best = choose(found, { rows, underTitle: first > 0 });
  if (best) return best.separator;
  const [names, hints] = [found.map(({ name }) => name), found.map(({ line }) => line)];
  throw new ConversionFailure(
    `The columns may be separated by ${names.join(' or ')}. Say which in a line before all others: ${hints.join(' or ')}.`,
  );
}

function choose(
  found: readonly Candidate[],
  { rows, underTitle }: { rows: readonly string[]; underTitle: boolean },
): Candidate | undefined {
  const likely = found.filter((each) => each.separator === ',' || !underTitle || isUnmistakable(each));
  const even = likely.filter(({ counts }) => counts.every((count) => count === counts[0]));
  if (even.length === 0) {
    const leading = likely.filter((each) => found.every((other) => splitsWhatever(other, each)));
    return leading.length === 1 ? leading[0] : undefined;
  }
  // A tab in every row is no coincidence.
  const tabs = even.find(({ separator }) => separator === '\t');
  if (tabs || even.length === 1) return tabs ?? even[0];
  const withoutNumbers = rows.map((row) => row.replace(/(?<=\d),(?=\d)/g, ''));
  return withoutNumbers.some((row) => row.includes(',')) ? undefined : even.find(({ separator }) => separator === ';');
}

/** A vertical bar is usually part of a value, so it counts only if it alone splits all rows evenly. */
function separatesAlone({ counts }: Candidate, all: readonly Candidate[]): boolean {
  const isEven = (each: readonly number[]) => each.length > 1 && each.every((count) => count === each[0]);
  return isEven(counts) && all.every((other) => other.counts === counts || !isEven(other.counts));
}

/** Below a title or similar lines, a separator must be told from the punctuation of sentences. */
function isUnmistakable({ counts }: Candidate): boolean {
  return counts.length >= 3 && counts.every((count) => count >= 2);
}

function splitsWhatever(other: Candidate, each: Candidate): boolean {
  return other.counts.every((count, row) => count === 0 || (each.counts[row] ?? 0) > 0);
}
