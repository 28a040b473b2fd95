import type { CellObject, Range, WorkSheet } from '@e965/xlsx';
import type { Cell, Table } from './table-document';

type Rows = readonly (readonly (CellObject | undefined)[] | undefined)[];

/** The part of a sheet that has something in it, without hidden rows and columns; and how many cells with something in them it leaves out. */
export function sheetTable(sheet: WorkSheet, requireFew: (cells: number) => void): Table & { unseen: number } {
  // Rows and cells that are not in the file are not there either.
  const data: Rows = sheet['!data'] ?? [];
  const { rows, columns, used } = gridOf(data, sheet);
  requireFew(rows.length * columns.length);
  const { spans, covered } = mergedCells(sheet['!merges'] ?? [], rows, columns);
  let seen = 0;
  const tableCell = (y: number, x: number): (string | Cell)[] => {
    if (covered.has(positionOf(y, x))) return [];
    const cell = data[y]?.[x];
    const span = spans.get(positionOf(y, x));
    const text = cell ? textOf(cell) : '';
    if (text.trim() !== '') seen += 1;
    const whole: Cell = { text, link: cell && linkOf(cell), ...span };
    return [whole.link === undefined && !span ? text : whole];
  };
  const tableRows = rows.map((y) => columns.flatMap((x) => tableCell(y, x)));
  const [first = []] = tableRows;
  const hasHead = rows.length > 1 && first.every((cell) => typeof cell === 'string' || (cell.rowSpan ?? 1) === 1);
  return { columns: columns.length, headRows: hasHead ? 1 : 0, rows: tableRows, unseen: used - seen };
}

/** The rows and columns that are shown, from the first to the last that has something in it, and how many cells have, hidden or not. */
function gridOf(data: Rows, { '!rows': rowInfos, '!cols': columnInfos }: WorkSheet) {
  const isShownRow = (y: number) => rowInfos?.[y]?.hidden !== true;
  const isShownColumn = (x: number) => columnInfos?.[x]?.hidden !== true;
  const rows = new Set<number>();
  const columns = new Set<number>();
  let used = 0;
  data.forEach((row, y) =>
    row?.forEach((cell, x) => {
      if (!cell || textOf(cell).trim() === '') return;
      used += 1;
      if (!isShownRow(y) || !isShownColumn(x)) return;
      rows.add(y);
      columns.add(x);
    }),
  );
  return { rows: between(rows).filter(isShownRow), columns: between(columns).filter(isShownColumn), used };
}

function linkOf({ l: link }: CellObject): string | undefined {
  // Others lead to a place in the spreadsheet.
  return link?.Target.startsWith('#') === false ? link.Target : undefined;
}

/** A format that files name by number alone, and that each country writes its own way. */
const ambiguousFormat = 'm/d/yy h:mm';

/** What a spreadsheet program shows, but never less than there is: all digits, and a formula where its result is missing. */
function textOf({ t, v, w = '', z, f }: CellObject): string {
  if (t === 'z') return f === undefined ? '' : `=${f}`;
  if (t === 's' && typeof v === 'string') return v;
  const isPlain = w.trim() === '' || z === undefined || z === 'General';
  if (v instanceof Date && (isPlain || z === ambiguousFormat)) return dateText(v);
  return isPlain && typeof v === 'number' && t === 'n' ? numberText(v) : w;
}

function numberText(number: number): string {
  // Of fractions programs show 15 digits, behind which 0.1 + 0.2 is not 0.3.
  return String(Number.isInteger(number) ? number : Number(number.toPrecision(15))).toUpperCase();
}

function dateText(date: Date): string {
  return date
    .toISOString()
    .replace(/(T00:00:00)?\.\d+Z$/, '')
    .replace('T', ' ');
}

/** From the least to the greatest of them. */
function between(numbers: Iterable<number>): number[] {
  let [least, greatest] = [Infinity, -1];
  for (const each of numbers) [least, greatest] = [Math.min(least, each), Math.max(greatest, each)];
  return greatest < 0 ? [] : Array.from({ length: greatest - least + 1 }, (_, index) => least + index);
}

function positionOf(y: number, x: number): number {
  // More columns than a sheet can have.
  return y * 2 ** 15 + x;
}

/** The first cells of merged ones as far as they are shown, and the others. Of ranges that overlap, which no program writes, the first one counts. */
function mergedCells(merges: readonly Range[], rows: readonly number[], columns: readonly number[]) {
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

/** Those of ascending numbers that are from `first` to `last`. */
function within(numbers: readonly number[], first: number, last: number): readonly number[] {
  let from = Math.min(numbers.length, Math.max(0, first - (numbers[0] ?? 0)));
  while (from > 0 && (numbers[from - 1] ?? 0) >= first) from -= 1;
  return numbers.slice(from, from + last - first + 1).filter((each) => each <= last);
}
