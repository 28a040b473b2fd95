import type { CellObject, WorkBook } from '@e965/xlsx';

/** The library's own, without types. */
export interface NumberFormats {
  format(format: string, value: number): string;
  is_date(format: string): boolean;
}

/** What of a format is no letter for a part of a date or a time. */
const aside = /"[^"]*"|\\.|General|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi;

/** With the digits before a hyphen, which the library leaves out where there are more than signs for them; a unit; and for lakhs. */
function readableFormat(format: string): string {
  const hyphenated = format.replace(/"[^"]*"|(?<=[0#?])-(?=[0#?])/g, (sign) => (sign === '-' ? '\\-' : sign));
  return hyphenated.replace(/^General(?=[^;]+$)/, '""$&').replace(/#?#,##,##(?=[#0])/, '#,##');
}

/**
 * Numbers in the format of their cells. The library rounds what is behind 2.675 in binary, a little less, to 2.67; programs round the
 * 15 digits that they show, to 2.68: a last bit more makes it the same, and no other number another one. It shows a time below zero as a
 * day long ago, and letters for eras and weekdays of East Asia as they are.
 */
export function showAsPrograms({ Workbook }: WorkBook, cells: readonly CellObject[], formats: NumberFormats): void {
  const first = Workbook?.WBProps?.date1904 === true ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 31);
  for (const cell of cells) {
    const { t, v, z, w } = cell;
    if (typeof z !== 'string' || !/[nd]/.test(t)) continue;
    const letters = z.replace(aside, '');
    const format = readableFormat(z);
    try {
      if (/g|aaa/i.test(letters)) cell.w = '';
      else if (v instanceof Date) {
        if (v.getTime() >= first || /[dy]/i.test(letters)) continue;
        cell.w = `-${formats.format(z, (first - v.getTime()) / 86_400_000)}`;
      } else if (t === 'n' && typeof v === 'number' && !formats.is_date(z)) {
        if (format === z && (w === undefined || Number.isInteger(v))) continue;
        cell.w = formats.format(format, Number.isInteger(v) ? v : v * (1 + Number.EPSILON));
      }
    } catch {
      // A format that the library does not read.
    }
  }
}
