import type { CellObject, WorkBook, WorkSheet } from '@e965/xlsx';
import { textOfPart } from '../archive';
import { ConversionFailure, fewOf, type Warnings } from '../conversion';
import {
  type BookType,
  cellsOf,
  describeComments,
  describeUnseen,
  gridOf,
  mergedCells,
  positionOf,
  readBook,
  type Rows,
  sheetsOf,
  textOfCell,
} from './spreadsheet';
import { attributeOf, decodeXml } from '../xml';

/** Texts of spreadsheets that another program converts, for checking its result. */

/**
 * The texts of the cells that a program prints, with warnings for those that it does not print. Undefined if the file cannot be read
 * here. A sheet contributes no texts if its printed part is unknown.
 */
export async function shownTexts(
  input: Buffer,
  type: BookType,
): Promise<{ text: string; warnings: Warnings } | undefined> {
  return ifReadable(input, type, (book) => {
    const areas = printAreasOf(book, type === 'ods' ? textOfPart(input, 'content.xml') : '');
    const { sheets, shown } = sheetsOf(book);
    const isKnown = isTextKnown(book);
    const read = shown.map(({ name, sheet }) => ({ title: name, ...readSheet(sheet, areas(name), isKnown) }));
    const comments = describeComments(shown.flatMap(({ sheet }) => cellsOf(sheet)));
    const text = read.flatMap(({ texts }) => texts).join('\n');
    return { text, warnings: { ...describeUnseen(sheets, read), ...describeOutside(read), ...comments } };
  });
}

const oldSheet = { rows: 65_536, columns: 256 };

/**
 * The texts of all cells, visible or not: typed ones, and all that are shown. `beyond` counts the used cells that do not fit into an XLS
 * sheet; with `isForOld` they are only counted. Undefined if the file cannot be read here.
 */
export async function textsOfCells(file: Buffer, type: BookType, { isForOld = false } = {}) {
  return ifReadable(file, type, (book) => {
    const old = isForOld ? oldSheet : { rows: Infinity, columns: Infinity };
    const cells: CellObject[] = [];
    let beyond = 0;
    for (const sheet of Object.values(book.Sheets)) {
      const data: Rows = sheet['!data'] ?? [];
      data.forEach((row, y) => {
        row?.forEach((cell, x) => {
          if (!cell) return;
          if (y < old.rows && x < old.columns) cells.push(cell);
          else if (textOfCell(cell).trim() !== '') beyond += 1;
        });
      });
    }
    // Only typed texts: programs differ in how they show numbers.
    const typed = cells.filter(({ t, f }) => t === 's' && f === undefined).map(({ v }) => String(v));
    const commentCount = cells.filter(({ c }) => c !== undefined && c.length > 0).length;
    // The library does not read text that cell formats of ODS hide.
    const unread = type === 'ods' ? textOfPart(file, 'content.xml').match(/(?<=\soffice:string-value=")[^"]+/g) : null;
    const others = unread?.map(decodeXml) ?? [];
    return { typed: typed.join('\n'), shown: [...cells.map(textOfCell), ...others].join('\n'), commentCount, beyond };
  });
}

async function ifReadable<Read>(file: Buffer, type: BookType, read: (book: WorkBook) => Read) {
  try {
    return read((await readBook(file, type, { dates: false })).book);
  } catch (error) {
    if (error instanceof ConversionFailure) return undefined;
    throw error;
  }
}

function describeOutside(sheets: readonly { title: string; outside: number }[]): Warnings {
  const some = sheets.filter(({ outside }) => outside > 0);
  if (some.length === 0) return {};
  const cells = fewOf(some.map(({ title, outside }) => `${outside} cell(s) of sheet ${title}`));
  return {
    UNPRINTED_CELLS_LOST: `Left out, because the file has an area to be printed in which they are not: ${cells}. Remove the print area to have them converted.`,
  };
}

/** `unseen`: number of used cells that are hidden or covered by a merged cell; `outside`: number of those in no print area. */
function readSheet(sheet: WorkSheet, { isPrinted, isOutside }: PrintAreas, isKnown: (cell: CellObject) => boolean) {
  const data: Rows = sheet['!data'] ?? [];
  const { rows, columns, used } = gridOf(data, sheet);
  const covered = mergedCells(sheet['!merges'] ?? [], rows, columns).covered;
  const texts: string[] = [];
  let [unseen, outside] = [used, 0];
  for (const y of rows) {
    for (const x of columns) {
      const cell = data[y]?.[x];
      if (!cell || covered.has(positionOf(y, x))) continue;
      if (textOfCell(cell).trim() !== '') {
        unseen -= 1;
        if (isOutside(y, x)) outside += 1;
      }
      if (!isPrinted(y, x)) continue;
      if (isKnown(cell)) texts.push(String(cell.v));
      // An error value in the file itself is not an error of the program that prints it.
      else if (cell.t === 'e') texts.push(textOfCell(cell));
    }
  }
  return { texts, unseen, outside };
}

/** Functions that every program recalculates; the texts that formulas make of them are unknown. */
const volatile = /\b(CELL|INDIRECT|INFO|NOW|OFFSET|RAND\w*|TODAY|WEBSERVICE)\(/i;

/** Whether a program shows the text of a cell as it is in the file. */
function isTextKnown(book: WorkBook): (cell: CellObject) => boolean {
  const cells = Object.values(book.Sheets).flatMap(cellsOf);
  const isFixed = !cells.some(({ f }) => f !== undefined && volatile.test(f));
  return (cell) => cell.t === 's' && (isFixed || cell.f === undefined);
}

/** A cell range with its sheet, in the notation of Excel or OpenDocument: `A1:B2`. */
const areaOfCells =
  /\$?(?:'(?:[^']|'')*'|[^'!., ]+)[!.]\$?([A-Z]+)\$?(\d+)(?::(?:\$?(?:'(?:[^']|'')*'|[^'!., ]+)\.)?\$?([A-Z]+)\$?(\d+))?/g;

type IsCell = (y: number, x: number) => boolean;

/** Print areas of a sheet. Nothing is known if only other sheets have some, or if those of this sheet are not made of cells. */
interface PrintAreas {
  readonly isPrinted: IsCell;
  readonly isOutside: IsCell;
}

/** By sheet name. `content` is that of an ODS file, whose print areas the library does not read. */
function printAreasOf(book: WorkBook, content: string): (sheet: string) => PrintAreas {
  const named = (name: string) =>
    new Map(
      (book.Workbook?.Names ?? [])
        .filter((each) => each.Name === name)
        .map(({ Sheet, Ref }) => [book.SheetNames[Sheet ?? -1] ?? '', Ref]),
    );
  const [lists, titles] = [named('_xlnm.Print_Area'), named('_xlnm.Print_Titles')];
  Array.from(content.matchAll(/<table:table(?=[\s>])([^<>]*)>/g), ([, attributes = ''], index) => {
    const list =
      attributeOf(attributes, 'table:print-ranges') ?? (/\stable:print="false"/.test(attributes) ? '' : undefined);
    if (list !== undefined) lists.set(book.SheetNames[index] ?? '', decodeXml(list));
  });
  const hasTitles = content.includes('<table:table-header-');
  return (sheet) => {
    const list = lists.get(sheet);
    const isKnown = list !== undefined && /^[, ]*$/.test(list.replace(areaOfCells, ''));
    if (!isKnown) return { isPrinted: () => lists.size === 0, isOutside: () => false };
    const areas = Array.from(list.matchAll(areaOfCells), ([, left = '', top = '', right = left, bottom = top]) => {
      return { left: columnOf(left), top: Number(top), right: columnOf(right), bottom: Number(bottom) };
    });
    const isPrinted: IsCell = (y, x) =>
      areas.some((area) => y + 1 >= area.top && y < area.bottom && x + 1 >= area.left && x < area.right);
    // Title rows and columns repeat on every page, so they are printed wherever they are.
    const [, top = 0, bottom = 0] = /\$(\d+):\$(\d+)/.exec(titles.get(sheet) ?? '') ?? [];
    const [, left = '', right = ''] = /\$([A-Z]+):\$([A-Z]+)/.exec(titles.get(sheet) ?? '') ?? [];
    const isTitle: IsCell = (y, x) =>
      (y + 1 >= Number(top) && y < Number(bottom)) || (x + 1 >= columnOf(left) && x < columnOf(right));
    return { isPrinted, isOutside: (y, x) => !hasTitles && !isPrinted(y, x) && !isTitle(y, x) };
  };
}

function columnOf(letters: string): number {
  return Array.from(letters).reduce((sum, each) => sum * 26 + parseInt(each, 36) - 9, 0);
}
