import type { CellObject, WorkBook, WorkSheet } from '@e965/xlsx';
import { type EngineRequest, type Converted, loadEngine, type Warnings } from './conversion';
import { readInputText, requireArchive } from './input';
import { readSeparatedValues, writeSeparatedValues } from './sheets/separated-values';
import { writeHidden } from './office/hidden-parts';
import { allCells, describeComments, escapeCodes, firstTable, readBook, textOfCell } from './sheets/spreadsheet';

/** Converts between spreadsheets: the contents of their cells, not the look. */
export async function convertSheets(request: EngineRequest, input: Buffer): Promise<Converted> {
  const { reader, writer } = request.route;
  const toText = writer === 'csv' || writer === 'tsv';
  if (reader === 'csv' || reader === 'tsv') {
    const { text, warnings } = readInputText(input, request.inputFormat);
    const values = readSeparatedValues(text, reader);
    const all = { ...warnings, ...values.warnings };
    if (toText) return { data: encode(values.rows, writer), warnings: all };
    const written = await write(await bookOf(values.rows, request.title), writer);
    return { data: written.data, warnings: { ...all, ...written.warnings } };
  }
  requireArchive(request, input);
  const type = reader === 'ods' ? 'ods' : 'xlsx';
  const { book, warnings } = await readBook(input, type, { dates: toText });
  if (toText) {
    const table = firstTable(book);
    return { data: encode(table.rows, writer), warnings: { ...warnings, ...table.warnings } };
  }
  const look = describeLook(book);
  const written = await write(book, writer);
  return { data: written.data, warnings: { ...warnings, ...look, ...written.warnings } };
}

function encode(rows: readonly (readonly string[])[], writer: string): Uint8Array {
  return new TextEncoder().encode(writeSeparatedValues(rows, writer));
}

/** Reads back the result, because the library silently drops what it cannot write. */
async function write(book: WorkBook, writer: string): Promise<Converted> {
  const library = await loadEngine('@e965/xlsx', () => import('@e965/xlsx'));
  const bookType = writer === 'ods' ? 'ods' : 'xlsx';
  for (const sheet of Object.values(book.Sheets)) stateArea(sheet);
  for (const cell of allCells(book)) {
    if (bookType === 'ods') makeWritable(cell);
    else if (typeof cell.v === 'string') cell.v = escapeCodes(cell.v);
  }
  const plain = library.write(book, { type: 'buffer', bookType, bookSST: true, compression: true }) as Uint8Array;
  const data = bookType === 'ods' ? withHidden(plain, book, library.CFB as Archives) : plain;
  return { data, warnings: describeChanges(book, library.read(data, { dense: true, sheetStubs: true }), bookType) };
}

/** The library writes each row and column of the area that the file stated: too few cells, a row without any (it throws), or 17 billion. */
function stateArea(sheet: WorkSheet): void {
  const { '!data': stated = [] } = sheet;
  const rows = Array.from({ length: Math.max(stated.length, 1) }, (_, index) => stated[index] ?? []);
  const width = rows.reduce((most, { length }) => Math.max(most, length), 1);
  sheet['!data'] = rows;
  sheet['!ref'] = `A1:${columnName(width - 1)}${rows.length}`;
}

/** ODS has no form for an error value, or for a formula without a result. */
function makeWritable(cell: CellObject): void {
  if (cell.t === 'e') Object.assign(cell, { t: 's', v: cell.w ?? '#VALUE!' });
  else if (cell.t === 'z' && cell.f !== undefined) Object.assign(cell, { t: 's', v: '' });
}

/** The library has no types for its own. */
interface Archives {
  read(archive: Uint8Array, options: { type: 'buffer' }): unknown;
  find(archive: unknown, name: string): unknown;
  write(archive: unknown, options: { type: 'buffer'; fileType: 'zip'; compression: true }): Uint8Array;
}

function withHidden(ods: Uint8Array, book: WorkBook, archives: Archives): Uint8Array {
  const archive = archives.read(ods, { type: 'buffer' });
  const entry = archives.find(archive, 'content.xml') as { content: Uint8Array; size: number };
  // The library writes an unknown height as "undefinedpx".
  const content = writeHidden(Buffer.from(entry.content).toString(), book).replaceAll(
    ' style:row-height="undefinedpx"',
    '',
  );
  entry.content = Buffer.from(content);
  entry.size = entry.content.length;
  return archives.write(archive, { type: 'buffer', fileType: 'zip', compression: true });
}

function describeChanges(book: WorkBook, written: WorkBook, format: string): Warnings {
  const changed = book.SheetNames.flatMap((name, index) =>
    (book.Sheets[name]?.['!data'] ?? []).flatMap((row, y) =>
      row.flatMap((cell, x) => {
        const other = written.Sheets[written.SheetNames[index] ?? '']?.['!data']?.[y]?.[x];
        return decodeCodes(valueOf(cell)) === valueOf(other) ? [] : [`${name}!${columnName(x)}${y + 1}`];
      }),
    ),
  );
  const [first] = changed;
  if (first === undefined) return {};
  const message = `${changed.length} cell(s) are not in the ${format.toUpperCase()} file as they were, the first at ${first}. Check them.`;
  return { CELLS_CHANGED: message };
}

/** As the library reads its own output. */
function decodeCodes(text: string): string {
  return text.replace(/_x([\da-f]{4})_/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
}

function valueOf(cell: CellObject | undefined): string {
  if (!cell) return '';
  const value = cell.t === 'n' && typeof cell.v === 'number' ? String(cell.v) : textOfCell(cell);
  return `${cell.f === undefined ? '' : '='}${value.replace(/\s+/g, ' ').trim()}`;
}

function columnName(x: number): string {
  return `${x >= 26 ? columnName(Math.floor(x / 26) - 1) : ''}${String.fromCharCode(65 + (x % 26))}`;
}

async function bookOf(rows: readonly (readonly string[])[], title: string): Promise<WorkBook> {
  const { utils } = await loadEngine('@e965/xlsx', () => import('@e965/xlsx'));
  const cells = rows.map((row) => row.map(cellOf));
  const sheet = utils.aoa_to_sheet(cells, { dense: true });
  const book = utils.book_new();
  // Sheet names have at most 31 letters, and allow few signs.
  const cleaned = title.replace(/[\][*?/\\:']/g, ' ').trim();
  utils.book_append_sheet(book, sheet, cleaned.slice(0, 31) || 'Sheet1');
  return book;
}

/** A number that reads the same when it is written again; a 007 stays a text. */
const plainNumber = /^(?!-0(?:\.0*)?$)-?(?:0|[1-9]\d{0,14})(?:\.(\d{1,9}))?$/;

function cellOf(value: string): CellObject {
  const [whole, decimals = ''] = plainNumber.exec(value.trim()) ?? [];
  if (whole === undefined || value.replace(/\D/g, '').length > 15) return { t: 's', v: value };
  return { t: 'n', v: Number(whole), ...(decimals !== '' && { z: `0.${'0'.repeat(decimals.length)}` }) };
}

function describeLook(book: WorkBook): Warnings {
  return {
    LOOK_LOST: 'Only the contents of cells were converted, not their colours, fonts and borders.',
    ...describeComments(allCells(book)),
  };
}
