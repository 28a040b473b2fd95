import type { CellObject, WorkBook } from '@e965/xlsx';
import { type ConversionRequest, type Converted, loadEngine, type Warnings } from './conversion';
import { readInputText, requireArchive } from './input';
import { readSeparatedValues, writeSeparatedValues } from './separated-values';
import { allCells, describeComments, firstTable, readBook } from './spreadsheet';

/** Converts between spreadsheets: what is in their cells, not how it looks. */
export async function convertSheets(request: ConversionRequest, input: Buffer): Promise<Converted> {
  const { reader, writer } = request.route;
  const toText = writer === 'csv' || writer === 'tsv';
  if (reader === 'csv' || reader === 'tsv') {
    const { text, warnings } = readInputText(input, request.inputFormat);
    const values = readSeparatedValues(text, reader);
    const all = { ...warnings, ...values.warnings };
    if (toText) return { data: encode(values.rows, writer), warnings: all };
    return { data: await write(await bookOf(values.rows, request.title), writer), warnings: all };
  }
  requireArchive(request, input);
  const type = reader === 'ods' ? 'ods' : 'xlsx';
  const { book, warnings } = await readBook(input, type, { dates: toText });
  if (toText) {
    const table = firstTable(book);
    return { data: encode(table.rows, writer), warnings: { ...warnings, ...table.warnings } };
  }
  return { data: await write(book, writer), warnings: { ...warnings, ...describeLook(book) } };
}

function encode(rows: readonly (readonly string[])[], writer: string): Uint8Array {
  return new TextEncoder().encode(writeSeparatedValues(rows, writer));
}

async function write(book: WorkBook, writer: string): Promise<Uint8Array> {
  const { write: writeBook } = await loadEngine('@e965/xlsx', () => import('@e965/xlsx'));
  const bookType = writer === 'ods' ? 'ods' : 'xlsx';
  return writeBook(book, { type: 'buffer', bookType, compression: true }) as Uint8Array;
}

async function bookOf(rows: readonly (readonly string[])[], title: string): Promise<WorkBook> {
  const { utils } = await loadEngine('@e965/xlsx', () => import('@e965/xlsx'));
  const cells = rows.map((row) => row.map(cellOf));
  const sheet = utils.aoa_to_sheet(cells, { dense: true });
  const book = utils.book_new();
  // Names of sheets hold at most 31 letters, and few signs.
  const cleaned = title.replace(/[\][*?/\\:']/g, ' ').trim();
  utils.book_append_sheet(book, sheet, cleaned.slice(0, 31) || 'Sheet1');
  return book;
}

/** A number that reads the same when it is written again, whatever it looks like: a 007 stays a text. */
const plainNumber = /^-?(?:0|[1-9]\d{0,14})(?:\.(\d{1,9}))?$/;

function cellOf(value: string): CellObject {
  const [whole, decimals = ''] = plainNumber.exec(value) ?? [];
  if (whole === undefined || value.replace(/\D/g, '').length > 15) return { t: 's', v: value };
  return { t: 'n', v: Number(whole), ...(decimals !== '' && { z: `0.${'0'.repeat(decimals.length)}` }) };
}

function describeLook(book: WorkBook): Warnings {
  return {
    LOOK_LOST: 'Only the contents of cells were converted, not their colours, fonts and borders.',
    ...describeComments(allCells(book)),
  };
}
