import type { CellObject, ParsingOptions, WorkBook, WorkSheet } from '@e965/xlsx';
import { z } from 'zod';
import { messageOf } from '../caught';
import { ConversionFailure, oneLine, type Warnings } from './conversion';
import { loadEngine } from './load-engine';
import { requireFewCells, tableDocument } from './table-document';
import { sheetTable } from './sheet-table';

/** All that the reader can tell, so that nothing is lost without a word. */
const readAll: ParsingOptions = {
  dense: true,
  cellNF: true,
  cellHTML: false,
  cellStyles: true,
  sheetStubs: true,
  bookFiles: true,
  dateNF: 'yyyy-mm-dd',
};

const again = 'Open it in a spreadsheet program, save it as XLSX and convert it again.';

/** What the reader tells beside its types. */
const packageSchema = z.object({
  Directory: z.object({ sheets: z.array(z.string()) }),
  files: z.record(z.string(), z.object({ content: z.instanceof(Uint8Array).optional() }).nullish()),
  Workbook: z.object({ CalcPr: z.object({ fullCalcOnLoad: z.unknown() }).partial().optional() }),
});

/** An XLSX spreadsheet as a pandoc document (JSON): of each sheet its name and a table of what a person sees in it. */
export async function spreadsheetDocument(
  input: Buffer,
  writer: string,
): Promise<{ json: string; warnings: Warnings }> {
  const book = await readBook(input);
  const sheets = book.SheetNames.map((name, index) => ({
    name,
    sheet: book.Sheets[name] ?? {},
    isHidden: (book.Workbook?.Sheets?.[index]?.Hidden ?? 0) !== 0,
  }));
  const shown = sheets.filter(({ isHidden, sheet }) => !isHidden && (sheet['!type'] ?? 'sheet') === 'sheet');
  if (shown.length === 0) {
    throw new ConversionFailure('The spreadsheet shows no cells: all of its sheets are hidden, or are charts.');
  }
  let area = 0;
  const tables = shown.map(({ name, sheet }) => {
    const requireFew = (cells: number) => requireFewCells((area += cells), writer);
    return { title: name, ...sheetTable(sheet, requireFew) };
  });
  const hidden = [
    ...sheets.filter(({ isHidden }) => isHidden).map(({ name }) => `sheet ${name}`),
    ...tables.filter(({ unseen }) => unseen > 0).map(({ title, unseen }) => `${unseen} cell(s) of sheet ${title}`),
  ];
  const cells = shown.flatMap(({ sheet }) => cellsOf(sheet));
  return { json: tableDocument(tables, writer), warnings: describeLosses(book, cells, hidden) };
}

async function readBook(input: Buffer): Promise<WorkBook> {
  const { read } = await loadEngine('@e965/xlsx', () => import('@e965/xlsx'));
  const parse = (options: ParsingOptions): WorkBook => {
    try {
      return read(input, { ...readAll, ...options });
    } catch (error) {
      throw new ConversionFailure(`The spreadsheet is damaged (${oneLine(messageOf(error))}). ${again}`);
    }
  };
  const book = parse({ cellDates: true, UTC: true });
  if (!allCells(book).every(isReadable)) takeNumbers(book, parse({}));
  if (book.bookType !== 'xlsx') throw new ConversionFailure(`The file is not an XLSX spreadsheet. ${again}`);
  requireAllCells(book);
  return book;
}

/** A number that is no date may have the format of one, and is a number then. */
function takeNumbers(book: WorkBook, numbers: WorkBook): void {
  for (const [name, sheet] of Object.entries(book.Sheets)) {
    sheet['!data']?.forEach((row, y) => {
      row.forEach((cell, x) => {
        if (!isReadable(cell)) Object.assign(cell, numbers.Sheets[name]?.['!data']?.[y]?.[x]);
      });
    });
  }
}

/** Whatever the reader passes over must not be missed without a word: each cell in the file has to be among those that it gives. */
function requireAllCells(book: WorkBook): void {
  const { Directory, files } = packageSchema.parse(book);
  let written = 0;
  for (const part of Directory.sheets) {
    const xml = Buffer.from(files[part.replace(/^\//, '')]?.content ?? []).toString('latin1');
    for (const tag = /<(?:\w+:)?c[\s/>]/g; tag.test(xml);) written += 1;
  }
  const read = allCells(book).filter(isReadable).length;
  if (read < written) {
    throw new ConversionFailure(
      `The spreadsheet is damaged: of its ${written} cells only ${read} can be read. ${again}`,
    );
  }
  const missing = book.SheetNames.find((name) => book.Sheets[name] === undefined);
  if (missing === undefined) return;
  throw new ConversionFailure(
    `The spreadsheet is damaged: it lists the sheet ${missing}, but the part with its cells is missing or empty. ${again}`,
  );
}

function isReadable({ v }: CellObject): boolean {
  return !Number.isNaN(v instanceof Date ? v.getTime() : v);
}

function allCells({ Sheets }: WorkBook): CellObject[] {
  return Object.values(Sheets).flatMap(cellsOf);
}

function cellsOf(sheet: WorkSheet): CellObject[] {
  return (sheet['!data'] ?? []).flat().filter(Boolean);
}

/** What is in a spreadsheet and not in the document that is made of it. */
function describeLosses(book: WorkBook, cells: readonly CellObject[], hidden: readonly string[]): Warnings {
  const { files, Workbook } = packageSchema.parse(book);
  const warnings: Warnings = {};
  if (hidden.length > 0) {
    const more = hidden.length > 5 ? ` and ${hidden.length - 5} more` : '';
    warnings['HIDDEN_CELLS_LOST'] =
      `Left out, because it is hidden: ${hidden.slice(0, 5).join(', ')}${more}. Show it to have it converted.`;
  }
  if (Object.keys(files).some((name) => /^xl\/(drawings\/drawing|charts|media|diagrams|embeddings)/.test(name))) {
    warnings['DRAWINGS_LOST'] =
      'Pictures, charts and shapes are not in the result. A spreadsheet program can save them as PDF.';
  }
  const comments = cells.filter(({ c }) => c !== undefined && c.length > 0).length;
  if (comments > 0) warnings['COMMENTS_LOST'] = `Comments of ${comments} cell(s) are not in the result.`;
  const formulas = cells.filter(({ f }) => f !== undefined);
  const open = formulas.filter(({ t }) => t === 'z').length;
  if (open > 0) {
    warnings['FORMULAS_NOT_CALCULATED'] =
      `${open} cell(s) show a formula, because its result is not in the file. ${again}`;
  }
  if (Number(Workbook.CalcPr?.fullCalcOnLoad) === 1 && formulas.length > open) {
    warnings['FORMULAS_MAY_BE_WRONG'] =
      `The program that wrote the file left its formulas to the one that opens it, so that ${formulas.length - open} result(s) may be wrong. ${again}`;
  }
  return warnings;
}
