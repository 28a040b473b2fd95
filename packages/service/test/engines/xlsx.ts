import { office, openXml, relation, zip, zipEntry } from './archives';

/** Handwritten XLSX files, like those of other programs. */

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

export interface SheetSource {
  name?: string;
  state?: 'hidden' | 'veryHidden';
  /** `row` elements. */
  rows: string;
  /** XML before and after the rows. */
  before?: string;
  after?: string;
  /** Replaces the whole part; undefined: the part is missing. */
  part?: string | Buffer | undefined;
}

interface BookSource {
  /** `si` elements. */
  strings?: string;
  /** Number formats of cells with the styles 1, 2, 3 and so on. */
  formats?: readonly string[];
  /** Elements of the workbook before and after its sheets. */
  before?: string;
  after?: string;
  /** Targets in relations; openpyxl writes absolute ones. */
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

/** A workbook whose only sheet is a chart without a size, as openpyxl writes it. */
export function chartSheet(title: string): Buffer {
  const drawing = 'http://schemas.openxmlformats.org/drawingml/2006';
  const names = `xmlns:a="${drawing}/main" xmlns:c="${drawing}/chart" xmlns:r="${office}"`;
  const type = 'application/vnd.openxmlformats-officedocument';
  const axis = (id: number, other: number) =>
    `<c:axId val="${id}"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:axPos val="l"/><c:crossAx val="${other}"/>`;
  const series =
    '<c:ser><c:idx val="0"/><c:order val="0"/><c:val><c:numLit><c:ptCount val="1"/><c:pt idx="0"><c:v>7</c:v></c:pt></c:numLit></c:val></c:ser>';
  const chart = `<c:chart><c:title><c:tx><c:rich><a:bodyPr/><a:p><a:r><a:t>${title}</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart><c:barDir val="col"/>${series}<c:axId val="1"/><c:axId val="2"/></c:barChart><c:catAx>${axis(1, 2)}</c:catAx><c:valAx>${axis(2, 1)}</c:valAx></c:plotArea></c:chart>`;
  const frame = `<graphicFrame><nvGraphicFramePr><cNvPr id="1" name="a"/><cNvGraphicFramePr/></nvGraphicFramePr><xfrm/><a:graphic><a:graphicData uri="${drawing}/chart"><c:chart r:id="c"/></a:graphicData></a:graphic></graphicFrame>`;
  const parts = {
    'xl/workbook.xml': {
      type: 'sheet.main',
      xml: `<workbook xmlns="${main}" xmlns:r="${office}"><sheets><sheet name="a" sheetId="1" r:id="s"/></sheets></workbook>`,
      relations: [relation('s', 'chartsheet', 'chartsheets/sheet1.xml')],
    },
    'xl/chartsheets/sheet1.xml': {
      type: 'chartsheet',
      xml: `<chartsheet xmlns="${main}" xmlns:r="${office}"><sheetViews><sheetView workbookViewId="0"/></sheetViews><drawing r:id="d"/></chartsheet>`,
      relations: [relation('d', 'drawing', '../drawings/drawing1.xml')],
    },
    'xl/drawings/drawing1.xml': {
      type: `${type}.drawing+xml`,
      xml: `<wsDr xmlns="${drawing}/spreadsheetDrawing" ${names}><absoluteAnchor><pos x="0" y="0"/><ext cx="0" cy="0"/>${frame}<clientData/></absoluteAnchor></wsDr>`,
      relations: [relation('c', 'chart', '../charts/chart1.xml')],
    },
    'xl/charts/chart1.xml': {
      type: `${type}.drawingml.chart+xml`,
      xml: `<c:chartSpace ${names}>${chart}</c:chartSpace>`,
    },
  };
  return zip(openXml('xl/workbook.xml', 'spreadsheetml', new Map(Object.entries(parts))));
}

/** A cell with inline text, as XlsxWriter writes it in constant memory mode. */
export const inline = (address: string, text: string): string =>
  `<c r="${address}" t="inlineStr"><is><t xml:space="preserve">${text}</t></is></c>`;

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
