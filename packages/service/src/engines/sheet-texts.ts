import type { CellObject, WorkBook, WorkSheet } from '@e965/xlsx';
import { textOfPart } from './archive';
import { ConversionFailure, type Warnings } from './conversion';
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
import { decodeXml } from './word-document';

/** The texts of a spreadsheet that another program converts. */

/**
 * The texts of the cells that a program prints, and what it does not print of them. Undefined for a file that is not read here; no texts
 * of a sheet of which it is not known what of it is printed.
 */
export async function shownTexts(
  input: Buffer,
  type: BookType,
): Promise<{ text: string; warnings: Warnings } | undefined> {
  return ifReadable(input, type, (book) => {
    const isChosen = type === 'ods' && /table:print(-ranges|="false)/.test(textOfPart(input, 'content.xml'));
    const { sheets, shown } = sheetsOf(book);
    const read = shown.map(({ name, sheet }) => ({ title: name, ...readSheet(sheet, printAreaOf(book, name)) }));
    const comments = describeComments(shown.flatMap(({ sheet }) => cellsOf(sheet)));
    const text = isChosen ? '' : read.flatMap(({ texts }) => texts).join('\n');
    return { text, warnings: { ...describeUnseen(sheets, read), ...comments } };
  });
}

/** What a sheet of an XLS file has room for. */
const oldSheet = { rows: 65_536, columns: 256 };

/**
 * What stands in all cells, shown or not: texts that were typed, and whatever they show. `beyond`: cells with something in them for which
 * an XLS file has no room; with `isForOld` they are only counted. Undefined for a file that is not read here.
 */
export async function textsOfCells(file: Buffer, type: BookType, { isForOld = false } = {}) {
  return ifReadable(file, type, (book) => {
    const old = isForOld ? oldSheet : { rows: Infinity, columns: Infinity };
    const cells: CellObject[] = [];
    let beyond = 0;
    for (const { '!data': data } of Object.values(book.Sheets)) {
      data?.forEach((row, y) => {
        row?.forEach((cell, x) => {
          if (y < old.rows && x < old.columns) cells.push(cell);
          else if (textOfCell(cell).trim() !== '') beyond += 1;
        });
      });
    }
    const typed = cells.filter(isText).map(({ v }) => String(v));
    const commentCount = cells.filter(({ c }) => c !== undefined && c.length > 0).length;
    // Of ODS, the library does not read what the formats of cells hide.
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

/** `unseen`: cells with something in them that are hidden, or covered by others that they were merged with. */
function readSheet(sheet: WorkSheet, isPrinted: (y: number, x: number) => boolean) {
  const data: Rows = sheet['!data'] ?? [];
  const { rows, columns, used } = gridOf(data, sheet);
  const covered = mergedCells(sheet['!merges'] ?? [], rows, columns).covered;
  const texts: string[] = [];
  let unseen = used;
  for (const y of rows) {
    for (const x of columns) {
      const cell = data[y]?.[x];
      if (!cell || covered.has(positionOf(y, x))) continue;
      if (textOfCell(cell).trim() !== '') unseen -= 1;
      if (isText(cell) && isPrinted(y, x)) texts.push(String(cell.v));
    }
  }
  return { texts, unseen };
}

/** How a program shows numbers and formulas is its own affair. */
function isText({ t, f }: CellObject): boolean {
  return t === 's' && f === undefined;
}

const areaOfCells = /^(?:'(?:[^']|'')*'|[^'!]+)!\$([A-Z]+)\$(\d+):\$([A-Z]+)\$(\d+)$/;

/** Whether a cell of a sheet is printed; none is known to be where other sheets have areas, or this one has another than of cells. */
function printAreaOf(book: WorkBook, sheet: string): (y: number, x: number) => boolean {
  const areas = book.Workbook?.Names?.filter(({ Name }) => Name === '_xlnm.Print_Area') ?? [];
  if (areas.length === 0) return () => true;
  const own = areas.find(({ Sheet }) => Sheet === book.SheetNames.indexOf(sheet));
  const [, left = '', top, right = '', bottom] = areaOfCells.exec(own?.Ref ?? '') ?? [];
  const column = (letters: string) => Array.from(letters).reduce((sum, each) => sum * 26 + parseInt(each, 36) - 9, 0);
  return (y, x) => y + 1 >= Number(top) && y < Number(bottom) && x + 1 >= column(left) && x < column(right);
}
