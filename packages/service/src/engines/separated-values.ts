import { CsvError, type Options, parse } from 'csv-parse/sync';
import { ConversionFailure, type Warnings } from './conversion';
import { findSeparator } from './separator';
import { requireFewCells, tableDocument } from './table-document';

/** What a reader of such files takes for granted: empty lines, rows of any length, quotes within a value, spaces around one. */
const lenient: Options = { relax_column_count: true, relax_quotes: true, skip_empty_lines: true, trim: true };

/** A CSV or TSV file as a pandoc document (JSON): one table, whose first row is its head. */
export function separatedValuesDocument(
  source: string,
  { reader, writer }: { reader: string; writer: string },
): { json: string; warnings: Warnings } {
  const { separator, text } = reader === 'tsv' ? { separator: '\t', text: source } : findSeparator(source);
  const rows = readRows(text, separator);
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
  requireFewCells(rows.length * columns, writer);
  const blanks = new Array<string>(columns).fill('');
  const filledUp = rows.map((row) => (row.length < columns ? [...row, ...blanks.slice(row.length)] : row));
  const json = tableDocument([{ columns, headRows: 1, rows: filledUp }], writer);
  return { json, warnings: describeLongRows(rows, columns) };
}

function readRows(text: string, delimiter: string): string[][] {
  try {
    return parse(text, { ...lenient, delimiter });
  } catch (error) {
    // Where tabs separate, quotes are letters for many programs.
    if (delimiter === '\t') return parse(text, { ...lenient, delimiter, quote: false });
    if (!(error instanceof CsvError) || error.code !== 'CSV_QUOTE_NOT_CLOSED') throw error;
    throw new ConversionFailure(
      `A quote that opens in line ${lineAfterLastRow(text, delimiter)}, or soon after, is never closed. Close it, and write a quote within quotes twice.`,
    );
  }
}

/** Where the row begins that cannot be read. */
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
    // Known already.
  }
  return line;
}

/** Values without a column name are often those of a value that has a separator in it and no quotes. */
function describeLongRows(rows: readonly (readonly string[])[], columns: number): Warnings {
  const named = rows[0]?.length ?? 0;
  if (columns === named) return {};
  const long = rows.filter(({ length }) => length > named).length;
  const message = `${long} row(s) have more values than the first row has columns (${columns}, not ${named}). Put values with a separator in them in quotes.`;
  return { ROWS_TOO_LONG: message };
}
