import type { WorkBook } from '@e965/xlsx';
import { attributeOf } from '../xml';

/** Hidden sheets, rows and columns of ODS spreadsheets, which the library neither reads nor writes. */

const element =
  /<(table:table|table:table-row|table:table-column|style:style|style:table-properties)(?=[\s/>])([^>]*)>/g;

/** Marks in the book the parts that its file hides. Rows and columns that repeat to the end of a sheet count as far as there are cells. */
export function readHidden(content: string, book: WorkBook): void {
  const hiddenStyles = new Set<string>();
  let style = '';
  let sheet = -1;
  let [row, column] = [0, 0];
  for (const [, name, attributes = ''] of content.matchAll(element)) {
    const isHidden = /table:visibility="(collapse|filter)"/.test(attributes);
    if (name === 'style:style') style = attributeOf(attributes, 'style:name') ?? '';
    if (name === 'style:table-properties' && attributeOf(attributes, 'table:display') === 'false')
      hiddenStyles.add(style);
    if (name === 'table:table') {
      sheet += 1;
      [row, column] = [0, 0];
      if (hiddenStyles.has(attributeOf(attributes, 'table:style-name') ?? '')) hideSheet(book, sheet);
    }
    const found = book.Sheets[book.SheetNames[sheet] ?? ''];
    const data: readonly (readonly unknown[] | undefined)[] = found?.['!data'] ?? [];
    if (found && name === 'table:table-row') {
      const next = row + Number(attributeOf(attributes, 'table:number-rows-repeated') ?? 1);
      if (isHidden) hide((found['!rows'] ??= []), row, Math.min(next, data.length));
      row = next;
    }
    if (found && name === 'table:table-column') {
      const next = column + Number(attributeOf(attributes, 'table:number-columns-repeated') ?? 1);
      const width = isHidden ? data.reduce((most, cells) => Math.max(most, cells?.length ?? 0), 0) : 0;
      if (isHidden) hide((found['!cols'] ??= []), column, Math.min(next, width));
      column = next;
    }
  }
}

/** The XML that the library has written, with the hidden parts of the book. */
export function writeHidden(content: string, book: WorkBook): string {
  let sheet = -1;
  let [row, column] = [0, 0];
  return content
    .replace(element, (whole, name: string, attributes: string) => {
      if (name === 'table:table') {
        sheet += 1;
        [row, column] = [0, 0];
        const isHidden = (book.Workbook?.Sheets?.[sheet]?.Hidden ?? 0) !== 0;
        return isHidden ? whole.replace('table:style-name="ta1"', 'table:style-name="hidden"') : whole;
      }
      const { '!rows': rows, '!cols': columns } = book.Sheets[book.SheetNames[sheet] ?? ''] ?? {};
      const isHidden =
        (name === 'table:table-row' && rows?.[row++]?.hidden === true) ||
        (name === 'table:table-column' && columns?.[column++]?.hidden === true);
      return isHidden ? `<${name} table:visibility="collapse"${attributes}>` : whole;
    })
    .replace('</office:automatic-styles>', `${hiddenStyle}</office:automatic-styles>`);
}

const hiddenStyle =
  '<style:style style:name="hidden" style:family="table" style:master-page-name="mp1"><style:table-properties table:display="false"/></style:style>';

function hideSheet(book: WorkBook, index: number): void {
  const sheets = ((book.Workbook ??= {}).Sheets ??= []);
  for (let at = sheets.length; at <= index; at += 1) sheets.push({});
  Object.assign(sheets[index] ?? {}, { Hidden: 1 });
}

function hide(infos: { hidden?: boolean }[], first: number, end: number): void {
  for (let at = first; at < end; at += 1) infos[at] = { ...infos[at], hidden: true };
}
