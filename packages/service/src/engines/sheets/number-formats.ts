import type { CellObject, WorkBook } from '@e965/xlsx';

/** The library has no types for its own. */
export interface NumberFormats {
  format(format: string, value: number): string;
  is_date(format: string): boolean;
}

/** Parts of a format that are no letters for a date or a time. */
const aside = /"[^"]*"|\\.|General|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi;

/** Works around gaps of the library: digits before a hyphen between placeholders, a unit behind `General`, and the grouping of lakhs. */
function readableFormat(format: string): string {
  const hyphenated = format.replace(/"[^"]*"|(?<=[0#?])-(?=[0#?])/g, (sign) => (sign === '-' ? '\\-' : sign));
  return hyphenated.replace(/^General(?=[^;]+$)/, '""$&').replace(/#?#,##,##(?=[#0])/, '#,##');
}

/**
 * Formats numbers as programs do. The library rounds 2.675, which is a little less in binary, to 2.67; programs round the 15 digits that
 * they show, to 2.68. Adding a last bit gives the same, and changes no other number. The library also shows negative times as days long
 * ago, and letters for East Asian eras and weekdays literally.
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
      // The library cannot read this format.
    }
  }
}
