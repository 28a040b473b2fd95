import { zip, zipEntry } from './bombs';

/** XLSX files written by hand, as the programs of others write them. */

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packaged = 'http://schemas.openxmlformats.org/package/2006';
const officeTypes = 'application/vnd.openxmlformats-officedocument';

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
  const parts: Record<string, string | Buffer | undefined> = {
    '[Content_Types].xml': contentTypes(ids, strings !== undefined),
    '_rels/.rels': relationsOf([relation('book', 'officeDocument', `${base && '/'}xl/workbook.xml`)]),
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${office}">${source.before ?? ''}<sheets>${listed.join('')}</sheets>${source.after ?? ''}</workbook>`,
    'xl/_rels/workbook.xml.rels': relationsOf(relations),
    'xl/styles.xml': stylesOf(formats),
    ...(strings !== undefined && { 'xl/sharedStrings.xml': `<sst xmlns="${main}">${strings}</sst>` }),
    ...Object.fromEntries(sheets.map((sheet, index) => [`xl/worksheets/sheet${index + 1}.xml`, partOf(sheet)])),
    ...more,
  };
  return zip(Object.entries(parts).flatMap(([name, data]) => (data === undefined ? [] : [zipEntry(name, data)])));
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

function relation(id: string, type: string, target: string): string {
  return `<Relationship Id="${id}" Type="${office}/${type}" Target="${target}"/>`;
}

export function relationsOf(relations: readonly string[]): string {
  return `<Relationships xmlns="${packaged}/relationships">${relations.join('')}</Relationships>`;
}

function contentTypes(ids: readonly number[], hasStrings: boolean): string {
  const override = (part: string, type: string) =>
    `<Override PartName="/xl/${part}.xml" ContentType="${officeTypes}.spreadsheetml.${type}+xml"/>`;
  const overrides = [
    override('workbook', 'sheet.main'),
    override('styles', 'styles'),
    ...(hasStrings ? [override('sharedStrings', 'sharedStrings')] : []),
    ...ids.map((id) => override(`worksheets/sheet${id}`, 'worksheet')),
  ];
  const rels = 'application/vnd.openxmlformats-package.relationships+xml';
  return `<Types xmlns="${packaged}/content-types"><Default Extension="rels" ContentType="${rels}"/><Default Extension="xml" ContentType="application/xml"/>${overrides.join('')}</Types>`;
}

function stylesOf(formats: readonly string[]): string {
  const codes = formats.map((code, index) => `<numFmt numFmtId="${200 + index}" formatCode="${code}"/>`);
  const cells = formats.map((_, index) => `<xf numFmtId="${200 + index}" applyNumberFormat="1"/>`);
  return `<styleSheet xmlns="${main}"><numFmts count="${codes.length}">${codes.join('')}</numFmts><cellXfs count="${cells.length + 1}"><xf numFmtId="0"/>${cells.join('')}</cellXfs></styleSheet>`;
}
