import { office, openXml, relation, zip, zipEntry } from './archives';

/** XLSX files written by hand, as the programs of others write them. */

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

export interface SheetSource {
  name?: string;
  state?: 'hidden' | 'veryHidden';
  /** The `row` elements. */
  rows: string;
  /** What stands before and behind them. */
  before?: string;
  after?: string;
  /** In place of the whole part, or none at all. */
  part?: string | Buffer | undefined;
}

interface BookSource {
  /** The `si` elements. */
  strings?: string;
  /** Number formats of cells with the styles 1, 2, 3 and so on. */
  formats?: readonly string[];
  /** Elements of the workbook: before and behind its sheets. */
  before?: string;
  after?: string;
  /** How relations name their targets: openpyxl writes them from the root on. */
  target?: 'relative' | 'absolute';
  more?: Readonly<Record<string, string>>;
}

export function xlsx(sheets: readonly SheetSource[], source: BookSource = {}): Buffer {
  const { strings, formats = [], target = 'relative', more = {} } = source;
  const base = target === 'absolute' ? '/xl/' : '';
  const ids = sheets.map((_, index) => index + 1);
  const relations = [
    ...ids.map((id) => relation(`s${id}`, 'worksheet', `${base}worksheets/sheet${id}.xml`)),
    relation('styles', 'styles', `${base}styles.xml`),
    ...(strings === undefined ? [] : [relation('strings', 'sharedStrings', `${base}sharedStrings.xml`)]),
  ];
  const listed = sheets.map(
    ({ name = `Sheet ${ids[0]}`, state }, index) =>
      `<sheet name="${name}" sheetId="${index + 1}" r:id="s${index + 1}"${state ? ` state="${state}"` : ''}/>`,
  );
  const book = `<workbook xmlns="${main}" xmlns:r="${office}">${source.before ?? ''}<sheets>${listed.join('')}</sheets>${source.after ?? ''}</workbook>`;
  const parts = new Map<string, { type: string; xml?: string | Buffer | undefined; relations?: string[] }>([
    ['xl/workbook.xml', { type: 'sheet.main', xml: book, relations }],
    ['xl/styles.xml', { type: 'styles', xml: stylesOf(formats) }],
    ...sheets.map((sheet, index): [string, { type: string; xml: string | Buffer | undefined }] => [
      `xl/worksheets/sheet${index + 1}.xml`,
      { type: 'worksheet', xml: partOf(sheet) },
    ]),
  ]);
  if (strings !== undefined) {
    parts.set('xl/sharedStrings.xml', { type: 'sharedStrings', xml: `<sst xmlns="${main}">${strings}</sst>` });
  }
  const others = Object.entries(more).map(([name, data]) => zipEntry(name, data));
  return zip([...openXml(`${base && '/'}xl/workbook.xml`, 'spreadsheetml', parts), ...others]);
}

/** A cell with its text in it, as XlsxWriter writes it where memory is scarce. */
export function inline(address: string, text: string): string {
  return `<c r="${address}" t="inlineStr"><is><t xml:space="preserve">${text}</t></is></c>`;
}

function partOf(sheet: SheetSource): string | Buffer | undefined {
  const { rows, before = '', after = '' } = sheet;
  if ('part' in sheet) return sheet.part;
  return `<worksheet xmlns="${main}" xmlns:r="${office}">${before}<sheetData>${rows}</sheetData>${after}</worksheet>`;
}

function stylesOf(formats: readonly string[]): string {
  const codes = formats.map((code, index) => `<numFmt numFmtId="${200 + index}" formatCode="${code}"/>`);
  const cells = formats.map((_, index) => `<xf numFmtId="${200 + index}" applyNumberFormat="1"/>`);
  return `<styleSheet xmlns="${main}"><numFmts count="${codes.length}">${codes.join('')}</numFmts><cellXfs count="${cells.length + 1}"><xf numFmtId="0"/>${cells.join('')}</cellXfs></styleSheet>`;
}
