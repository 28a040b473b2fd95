import type { CellObject, ParsingOptions, Range, WorkBook, WorkSheet } from '@e965/xlsx';
import { z } from 'zod';
import { ConversionFailure, fewOf, loadEngine, failureReason, type Warnings } from '../conversion';
import { count } from '../input';
import { editParts, textOfPart, withWholeCharacters } from '../archive';
import { openHeaders } from '../office/office-texts';
import { readHidden } from '../office/hidden-parts';
import { type NumberFormats, showAsPrograms } from './number-formats';
import { withTextsOfValues } from '../office/open-sheet';
import { type Cell, requireFewCells, type Table, tableDocument } from '../documents/pandoc-document';
import { decodeXml } from '../xml';
import { lostWords, someWords } from '../words';

/** Everything that the reader can report, so that nothing is lost silently. */
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

export type BookType = 'xlsx' | 'ods';

/** Fields that the reader returns but its types lack. */
const packageSchema = z.object({
  Directory: z.object({ sheets: z.array(z.string()) }),
  files: z.record(z.string(), z.object({ content: z.instanceof(Uint8Array).optional() }).nullish()),
});
const calculationSchema = z.object({ CalcPr: z.object({ fullCalcOnLoad: z.unknown() }).partial().optional() });

/** A spreadsheet as a pandoc document (JSON): for each sheet, its name and a table of what is visible in it. */
export async function spreadsheetDocument(
  input: Buffer,
  writer: string,
  type: BookType = 'xlsx',
): Promise<{ json: string; warnings: Warnings }> {
  const { book, warnings } = await readBook(input, type);
  const { sheets, shown } = sheetsOf(book);
  let area = 0;
  const tables = shown.map(({ name, sheet }) => {
    const requireFew = (cells: number) => requireFewCells((area += cells), writer);
    return { title: name, ...sheetTable(sheet, requireFew) };
  });
  const cells = shown.flatMap(({ sheet }) => cellsOf(sheet));
  const losses = { ...describeUnseen(sheets, tables), ...describeComments(cells), ...describeFormulas(book, cells) };
  return { json: tableDocument(tables, writer), warnings: { ...warnings, ...losses } };
}

/** The visible texts of the first sheet that is neither hidden nor empty. */
export function firstTable(book: WorkBook): { rows: string[][]; warnings: Warnings } {
  const { sheets, shown } = sheetsOf(book);
  const hasText = (each: WorkSheet) => cellsOf(each).some((cell) => textOfCell(cell).trim() !== '');
  const first: { name: string; sheet: WorkSheet } = shown[0] ?? { name: '', sheet: {} };
  const { name, sheet } = shown.find((each) => hasText(each.sheet)) ?? first;
  const data: Rows = sheet['!data'] ?? [];
  const { rows, columns, used } = gridOf(data, sheet);
  const texts = rows.map((y) => columns.map((x) => (data[y]?.[x] ? textOfCell(data[y][x]) : '')));
  const unseen = used - texts.flat().filter((text) => text.trim() !== '').length;
  const others = sheets.filter((each) => each.name !== name).map((each) => each.name);
  const cells = cellsOf(sheet);
  const warnings: Warnings = {
    ...describeHidden(unseen > 0 ? [`${unseen} cell(s) of sheet ${name}`] : []),
    ...describeComments(cells),
    ...describeFormulas(book, cells),
  };
  if (others.length > 0) {
    warnings['SHEETS_LOST'] =
      `Only the sheet ${name} was converted, not ${fewOf(others)}. Convert to xlsx, ods, html or pdf to keep all sheets.`;
  }
  return { rows: texts, warnings };
}

export function sheetsOf(book: WorkBook) {
  const sheets = book.SheetNames.map((name, index) => ({
    name,
    sheet: book.Sheets[name] ?? {},
    isHidden: (book.Workbook?.Sheets?.[index]?.Hidden ?? 0) !== 0,
  }));
  const shown = sheets.filter(({ isHidden, sheet }) => !isHidden && (sheet['!type'] ?? 'sheet') === 'sheet');
  if (shown.length > 0) return { sheets, shown };
  throw new ConversionFailure('The spreadsheet shows no cells: all of its sheets are hidden, or are charts.');
}

const covered = /(?<=<\/?table:)covered-(?=table-cell[\s/>])/g;

/** The library decodes `_x0041_` to the letter A, which is right for XLSX and wrong for ODS. */
const letterCode = /_(?=x[\da-f]{4}_)/gi;

export function escapeCodes(text: string): string {
  return text.replace(letterCode, '_x005F_');
}

function withEscapes(xml: string): string {
  return xml.search(letterCode) === -1 ? xml : xml.replace(/>[^<]+/g, escapeCodes);
}

/** The whole spreadsheet, with warnings for contents that cannot be read here. */
export async function readBook(
  input: Buffer,
  type: BookType,
  { dates = true }: { dates?: boolean } = {},
): Promise<{ book: WorkBook; warnings: Warnings }> {
  const library = await loadEngine('@e965/xlsx', () => import('@e965/xlsx'));
  // The library ignores cells that a merged cell covers.
  const uncovered = editParts(withWholeCharacters(input), /^content\.xml$/, (xml) => xml.replace(covered, ''));
  const whole = type === 'ods' ? editParts(withTextsOfValues(uncovered), /^content\.xml$/, withEscapes) : uncovered;
  const parse = (options: ParsingOptions): WorkBook => {
    try {
      const book = library.read(whole, { ...readAll, ...options });
      return type === 'ods' ? withNames(book) : book;
    } catch (error) {
      throw new ConversionFailure(`The spreadsheet is damaged (${failureReason(error)}). ${again}`);
    }
  };
  const book = parse(dates ? { cellDates: true, UTC: true } : {});
  if (!allCells(book).every(isReadable)) takeNumbers(book, parse({}));
  if (book.bookType !== type) {
    throw new ConversionFailure(`The file is not an ${type.toUpperCase()} spreadsheet. ${again}`);
  }
  if (type === 'xlsx') showAsPrograms(book, allCells(book), library.SSF as NumberFormats);
  const parts = type === 'xlsx' ? partsOfXlsx(book) : partsOfOds(input, book);
  requireAllCells(book, parts.cells);
  const warnings: Warnings = {};
  if (parts.hasDrawings) {
    warnings['DRAWINGS_LOST'] =
      'Pictures, charts and shapes are not in the result. A spreadsheet program can save them as PDF.';
  }
  const headers = lostWords(parts.headers, '');
  if (headers.length > 0) {
    warnings['HEADERS_LOST'] = `Headers and footers of pages are not in the result: ${someWords(headers)}.`;
  }
  return { book, warnings };
}

/** The library leaves XML escapes in the sheet names of ODS: `R&amp;D`. */
function withNames({ SheetNames, Sheets, ...book }: WorkBook): WorkBook {
  // A sheet may have no name.
  const sheets = SheetNames.map((name?: string) => [decodeXml(name ?? ''), Sheets[String(name)] ?? {}] as const);
  return { ...book, SheetNames: sheets.map(([name]) => name), Sheets: Object.fromEntries(sheets) };
}

function partsOfXlsx(book: WorkBook) {
  const { Directory, files } = packageSchema.parse(book);
  const parts = Directory.sheets.map((part) => files[part.replace(/^\//, '')]?.content);
  const drawings = /^xl\/(drawings\/drawing|charts|media|diagrams|embeddings)/;
  return {
    cells: parts.reduce((sum, part) => sum + count(textOfXml(part), /<(?:\w+:)?c[\s/>]/g), 0),
    hasDrawings: Object.keys(files).some((name) => drawings.test(name)),
    headers: parts.map((part) => headersIn(Buffer.from(part ?? '').toString('utf8'))).join('\n'),
  };
}

function partsOfOds(input: Buffer, book: WorkBook) {
  const content = textOfPart(input, 'content.xml');
  readHidden(content, book);
  return {
    cells: count(content, /<table:table-cell\s[^>]*office:value-type=/g),
    hasDrawings: count(content, /<draw:(frame|object|image|custom-shape)[\s/>]/g) > 0,
    headers: openHeaders(textOfPart(input, 'styles.xml')).map(headerOfOds).join('\n'),
  };
}

/** Without generated lines: Calc puts the sheet name and the page number into every file. */
function headerOfOds(xml: string): string {
  if (/^<[^<>]*\sstyle:display="false"/.test(xml)) return '';
  const lines = xml.match(/<text:p[\s>][^]*?<\/text:p>/g) ?? [];
  const typed = lines.filter((line) => !/<text:(sheet-name|page-\w+|date|time|title|file-name)[\s/>]/.test(line));
  return typed.map((line) => decodeXml(line.replace(/<[^<>]*>/g, ' '))).join('\n');
}

/** The page headers and footers of an XLSX sheet, without the codes for fonts, dates and page numbers. */
function headersIn(xml: string): string {
  const texts = xml.match(/(?<=<(odd|even|first)(Header|Footer)>)[^<]+/g) ?? [];
  return texts.map((text) => decodeXml(text).replace(/&("[^"]*"|K[\dA-F]{6}|\d+|.)/g, ' ')).join('\n');
}

function textOfXml(xml: Uint8Array = Buffer.of()): string {
  return Buffer.from(xml).toString('latin1');
}

/** A number outside the range of dates may be formatted as a date; it stays a number. */
function takeNumbers(book: WorkBook, numbers: WorkBook): void {
  for (const [name, sheet] of Object.entries(book.Sheets)) {
    sheet['!data']?.forEach((row, y) => {
      row.forEach((cell, x) => {
        if (!isReadable(cell)) Object.assign(cell, numbers.Sheets[name]?.['!data']?.[y]?.[x]);
      });
    });
  }
}

/** Nothing may be lost silently: the reader must return every cell that the file has. */
function requireAllCells(book: WorkBook, written: number): void {
  const read = allCells(book).filter(isReadable).length;
  const missing = book.SheetNames.find((name) => book.Sheets[name] === undefined);
  const problems = [
    ...(read < written ? [`of its ${written} cells only ${read} can be read`] : []),
    ...(missing === undefined
      ? []
      : [`it lists the sheet ${missing}, but the part with its cells is missing or empty`]),
  ];
  if (problems[0] !== undefined) throw new ConversionFailure(`The spreadsheet is damaged: ${problems[0]}. ${again}`);
}

function isReadable({ v }: CellObject): boolean {
  return !Number.isNaN(v instanceof Date ? v.getTime() : v);
}

export function allCells({ Sheets }: WorkBook): CellObject[] {
  return Object.values(Sheets).flatMap(cellsOf);
}

export function cellsOf(sheet: WorkSheet): CellObject[] {
  return (sheet['!data'] ?? []).flat().filter(Boolean);
}

/** Warns about hidden sheets, and hidden cells of the others. */
export function describeUnseen(
  sheets: readonly { name: string; isHidden: boolean }[],
  shown: readonly { title: string; unseen: number }[],
): Warnings {
  return describeHidden([
    ...sheets.filter(({ isHidden }) => isHidden).map(({ name }) => `sheet ${name}`),
    ...shown.filter(({ unseen }) => unseen > 0).map(({ title, unseen }) => `${unseen} cell(s) of sheet ${title}`),
  ]);
}

function describeHidden(hidden: readonly string[]): Warnings {
  if (hidden.length === 0) return {};
  return { HIDDEN_CELLS_LOST: `Left out, because it is hidden: ${fewOf(hidden)}. Show it to have it converted.` };
}

export function describeComments(cells: readonly CellObject[]): Warnings {
  const comments = cells.filter(({ c }) => c !== undefined && c.length > 0).length;
  return comments === 0 ? {} : { COMMENTS_LOST: `Comments of ${comments} cell(s) are not in the result.` };
}

function describeFormulas({ Workbook }: WorkBook, cells: readonly CellObject[]): Warnings {
  const warnings: Warnings = {};
  const formulas = cells.filter(({ f }) => f !== undefined);
  const open = formulas.filter(({ t }) => t === 'z').length;
  if (open > 0) {
    warnings['FORMULAS_NOT_CALCULATED'] =
      `${open} cell(s) show a formula, because its result is not in the file. ${again}`;
  }
  const { CalcPr } = calculationSchema.parse(Workbook ?? {});
  if (Number(CalcPr?.fullCalcOnLoad) === 1 && formulas.length > open) {
    warnings['FORMULAS_MAY_BE_WRONG'] =
      `The program that wrote the file left its formulas to the one that opens it, so that ${formulas.length - open} result(s) may be wrong. ${again}`;
  }
  return warnings;
}

export type Rows = readonly (readonly (CellObject | undefined)[] | undefined)[];

/** The used part of a sheet without hidden rows and columns, and the number of used cells that this leaves out. */
function sheetTable(sheet: WorkSheet, requireFew: (cells: number) => void): Table & { unseen: number } {
  // Sparse: rows and cells that the file lacks are missing here too.
  const data: Rows = sheet['!data'] ?? [];
  const { rows, columns, used } = gridOf(data, sheet);
  requireFew(rows.length * columns.length);
  const { spans, covered } = mergedCells(sheet['!merges'] ?? [], rows, columns);
  let seen = 0;
  const tableCell = (y: number, x: number): (string | Cell)[] => {
    if (covered.has(positionOf(y, x))) return [];
    const cell = data[y]?.[x];
    const span = spans.get(positionOf(y, x));
    const text = cell ? textOfCell(cell) : '';
    if (text.trim() !== '') seen += 1;
    const whole: Cell = { text, link: cell && linkOf(cell), ...span };
    return [whole.link === undefined && !span ? text : whole];
  };
  const tableRows = rows.map((y) => columns.flatMap((x) => tableCell(y, x)));
  const [first = []] = tableRows;
  const hasHead = rows.length > 1 && first.every((cell) => typeof cell === 'string' || (cell.rowSpan ?? 1) === 1);
  return { columns: columns.length, headRows: hasHead ? 1 : 0, rows: tableRows, unseen: used - seen };
}

/** The visible rows and columns from the first to the last used one, and the number of used cells, hidden ones included. */
export function gridOf(data: Rows, { '!rows': rowInfos, '!cols': columnInfos }: WorkSheet) {
  const isShownRow = (y: number) => rowInfos?.[y]?.hidden !== true;
  const isShownColumn = (x: number) => columnInfos?.[x]?.hidden !== true;
  const rows = new Set<number>();
  const columns = new Set<number>();
  let used = 0;
  data.forEach((row, y) =>
    row?.forEach((cell, x) => {
      if (!cell || textOfCell(cell).trim() === '') return;
      used += 1;
      if (!isShownRow(y) || !isShownColumn(x)) return;
      rows.add(y);
      columns.add(x);
    }),
  );
  return { rows: between(rows).filter(isShownRow), columns: between(columns).filter(isShownColumn), used };
}

function linkOf({ l: link }: CellObject): string | undefined {
  // A link within the spreadsheet would lead nowhere.
  return link?.Target.startsWith('#') === false ? link.Target : undefined;
}

/** A format that files reference by number only, and that every locale writes differently. */
const ambiguousFormat = 'm/d/yy h:mm';

/** The text that a spreadsheet program shows, but never less than the file holds: all digits, and the formula if its result is missing. */
export function textOfCell({ t, v, w = '', z, f }: CellObject): string {
  if (t === 'z') return f === undefined ? '' : `=${f}`;
  if (t === 's' && typeof v === 'string') return v;
  const isPlain = w.trim() === '' || z === undefined || z === 'General';
  if (v instanceof Date && (isPlain || z === ambiguousFormat)) {
    return v
      .toISOString()
      .replace(/(T00:00:00)?\.\d+Z$/, '')
      .replace('T', ' ');
  }
  if (!isPlain || typeof v !== 'number' || t !== 'n') return w;
  // Programs show 15 digits of a fraction; beyond them 0.1 + 0.2 is not 0.3.
  return String(Number.isInteger(v) ? v : Number(v.toPrecision(15))).toUpperCase();
}

/** All integers from the smallest to the greatest. */
function between(numbers: Iterable<number>): number[] {
  let [least, greatest] = [Infinity, -1];
  for (const each of numbers) [least, greatest] = [Math.min(least, each), Math.max(greatest, each)];
  return greatest < 0 ? [] : Array.from({ length: greatest - least + 1 }, (_, index) => least + index);
}

export function positionOf(y: number, x: number): number {
  // More columns than a sheet can have.
  return y * 2 ** 15 + x;
}

/** The spans of merged cells as far as they are visible, and the cells that they cover. If ranges overlap, the first one counts. */
export function mergedCells(merges: readonly Range[], rows: readonly number[], columns: readonly number[]) {
  const spans = new Map<number, { rowSpan: number; columnSpan: number }>();
  const covered = new Set<number>();
  for (const { s, e } of merges) {
    const [ys, xs] = [within(rows, s.r, e.r), within(columns, s.c, e.c)];
    if (ys.length * xs.length <= 1) continue;
    const [first = 0, ...others] = ys.flatMap((y) => xs.map((x) => positionOf(y, x)));
    if ([first, ...others].some((each) => covered.has(each) || spans.has(each))) continue;
    spans.set(first, { rowSpan: ys.length, columnSpan: xs.length });
    for (const each of others) covered.add(each);
  }
  return { spans, covered };
}

/** The part of ascending numbers from `first` to `last`. */
function within(numbers: readonly number[], first: number, last: number): readonly number[] {
  let from = Math.min(numbers.length, Math.max(0, first - (numbers[0] ?? 0)));
  while (from > 0 && (numbers[from - 1] ?? 0) >= first) from -= 1;
  return numbers.slice(from, from + last - first + 1).filter((each) => each <= last);
}
