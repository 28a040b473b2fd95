import { read } from '@e965/xlsx';
import { ConversionFailure, type EngineRequest } from '../../src/engines/conversion';
import { convertSheets } from '../../src/engines/sheet-engine';
import { spreadsheetDocument } from '../../src/engines/sheets/spreadsheet';
import { zip, zipEntry, type ZipEntry } from './archives';
import { cellsOf } from './tables';
import { inline, xlsx } from './xlsx';

/** Conversion between spreadsheet formats changes no value. */

async function convert(input: Buffer | string, reader: string, writer: string) {
  const request: EngineRequest = {
    route: { engine: 'sheets', reader, writer },
    ...{ inputPath: '', outputPath: '', title: 'people', inputFormat: reader, outputFormat: writer },
    ...{ parameters: {}, timeoutMs: 1_000 },
  };
  const { data, warnings } = await convertSheets(request, Buffer.from(input));
  return { bytes: Buffer.from(data), text: Buffer.from(data).toString(), warnings };
}

const formats = ['xlsx', 'ods'] as const;
const values = 'name,code,price,share,day\r\n"Köhler, Ana",007,1234.50,0.1,2026-01-02\r\n"a ""b""\nc",-3,-0,1e3,\r\n';

describe.each(formats)('a CSV file converted to %s', (format) => {
  it('keeps all its values when it is converted back', async () => {
    const book = await convert(values, 'csv', format);
    const back = await convert(book.bytes, format, 'csv');
    // The library does not write this format into ODS files.
    expect(back.text).toBe(format === 'ods' ? values.replace('1234.50', '1234.5') : values);
    expect({ ...book.warnings, ...back.warnings }).toEqual({});
  });

  it('has numbers where their text is canonical, and texts elsewhere', async () => {
    const sheet = read((await convert(values, 'csv', format)).bytes, { dense: true }).Sheets['people'];
    expect(sheet?.['!data']?.[1]?.map(({ t }) => t)).toEqual(['s', 's', 'n', 'n', 's']);
  });

  it('keeps blanks around texts, and reads numbers with blanks around them', async () => {
    const { bytes } = await convert('a, b ,1\r\n  c, -2 ,3\r\n', 'csv', format);
    expect((await convert(bytes, format, 'csv')).text).toBe('a," b ",1\r\n"  c",-2,3\r\n');
  });
});

describe.each(formats)('an XLSX spreadsheet converted to %s', (format) => {
  const rows = `<row r="1">${inline('A1', 'above')}</row><row r="3">${inline('B3', 'below')}</row>`;
  // The area that the file states: none, less than its cells take, the whole sheet.
  const areas = ['', '<dimension ref="A1"/>', '<dimension ref="B3:B3"/>', '<dimension ref="A1:XFD1048576"/>'];

  it.each(areas)('keeps cells below an empty row where the file states the area %p', async (before) => {
    const { bytes, warnings } = await convert(xlsx([{ rows, before }]), 'xlsx', format);
    expect(Object.keys(warnings)).toEqual(['LOOK_LOST']);
    expect((await convert(bytes, format, 'csv')).text).toBe('above,\r\n,\r\n,below\r\n');
  });

  it('keeps a sheet without cells', async () => {
    const { bytes, warnings } = await convert(xlsx([{ rows }, { name: 'empty', rows: '' }]), 'xlsx', format);
    expect([Object.keys(read(bytes).Sheets).length, Object.keys(warnings)]).toEqual([2, ['LOOK_LOST']]);
  });
});

it.each(formats)('keeps text that looks like an escape code in CSV converted to %s and back', async (format) => {
  const book = await convert('_x0041_,a_x005F_x0042_\r\n', 'csv', format);
  expect(book.warnings).toEqual({});
  expect((await convert(book.bytes, format, 'csv')).text).toBe('_x0041_,a_x005F_x0042_\r\n');
});

describe('an XLSX spreadsheet converted to CSV', () => {
  const two = xlsx([
    { name: 'first', rows: `<row r="1">${inline('A1', 'a')}<c r="B1"><f>1+1</f><v>2</v></c></row>` },
    { name: 'second', rows: `<row r="1">${inline('A1', 'b')}</row>` },
  ]);

  it('keeps the first sheet, and a warning names the others', async () => {
    const { text, warnings } = await convert(two, 'xlsx', 'csv');
    expect(text).toBe('a,2\r\n');
    expect(warnings['SHEETS_LOST']).toMatch(/^Only the sheet first was converted, not second\./);
  });

  it('keeps the first sheet that is not empty', async () => {
    const book = xlsx([
      { name: 'blank', rows: `<row r="1">${inline('A1', ' ')}</row>` },
      { name: 'data', rows: `<row r="1">${inline('A1', 'a')}</row>` },
    ]);
    const { text, warnings } = await convert(book, 'xlsx', 'csv');
    expect(text).toBe('a\r\n');
    expect(warnings['SHEETS_LOST']).toMatch(/^Only the sheet data was converted, not blank\./);
  });

  it('separates values with tabs in TSV, and quotes a value that contains one', async () => {
    const { text } = await convert(
      xlsx([{ rows: `<row r="1">${inline('A1', 'a&#9;b')}${inline('B1', 'c,d')}</row>` }]),
      'xlsx',
      'tsv',
    );
    expect(text).toBe('"a\tb"\tc,d\r\n');
  });
});

describe.each(formats)('an XLSX spreadsheet converted to %s', (format) => {
  it('keeps sheets, numbers, formulas, dates and formats', async () => {
    const source = xlsx(
      [
        { name: 'sums', rows: '<row r="1"><c r="A1"><v>1.5</v></c><c r="B1"><f>A1*2</f><v>3</v></c></row>' },
        { name: 'days', rows: '<row r="1"><c r="A1" s="1"><v>46024</v></c></row>' },
      ],
      { formats: ['yyyy/mm/dd'] },
    );
    const { bytes, warnings } = await convert(source, 'xlsx', format);
    const tables = cellsOf((await spreadsheetDocument(bytes, 'docx', format)).json);
    expect(tables).toEqual([[['1.5', '3']], [['2026/01/02']]]);
    expect(read(bytes, { dense: true }).Sheets['sums']?.['!data']?.[0]?.[1]?.f).toBe('A1*2');
    expect(Object.keys(warnings)).toEqual(['LOOK_LOST']);
  });
});

describe('hidden parts of a spreadsheet', () => {
  const cell = (at: string, text: string) => inline(at, text);
  const source = xlsx([
    {
      name: 'Shown',
      before: '<cols><col min="2" max="2" hidden="1" width="9"/></cols>',
      rows: `<row r="1">${cell('A1', 'a')}${cell('B1', 'SECRET')}${cell('C1', 'c')}</row><row r="2" hidden="1">${cell('A2', 'ROW')}</row><row r="3">${cell('A3', 'd')}</row>`,
    },
    { name: 'Hidden', state: 'hidden', rows: `<row r="1">${cell('A1', 'SHEET')}</row>` },
    { name: 'Very', state: 'veryHidden', rows: `<row r="1">${cell('A1', 'VERY')}</row>` },
  ]);

  it('stay hidden from XLSX to ODS and back', async () => {
    let { bytes } = await convert(source, 'xlsx', 'ods');
    for (const [reader, writer] of [
      ['ods', 'xlsx'],
      ['xlsx', 'ods'],
      ['ods', 'ods'],
    ] as const) {
      const csv = await convert(bytes, reader, 'csv');
      expect(csv.text).toBe('a,c\r\nd,\r\n');
      expect(csv.warnings['HIDDEN_CELLS_LOST']).toMatch(/2 cell\(s\) of sheet Shown/);
      expect(csv.warnings['SHEETS_LOST']).toMatch(/not Hidden, Very\./);
      const { json, warnings } = await spreadsheetDocument(bytes, 'html', reader);
      expect(cellsOf(json)).toEqual([
        [
          ['a', 'c'],
          ['d', ''],
        ],
      ]);
      expect(warnings['HIDDEN_CELLS_LOST']).toMatch(/sheet Hidden, sheet Very, 2 cell/);
      const next = await convert(bytes, reader, writer);
      expect(Object.keys(next.warnings)).toEqual(['LOOK_LOST']);
      bytes = next.bytes;
    }
  });
});

it.each(formats)('keeps an error value and a formula without a result in %s', async (format) => {
  const rows = `<row r="1"><c r="A1" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="B1"><f>SUM(1,2)</f></c>${inline('C1', 'x')}</row>`;
  const { bytes, warnings } = await convert(xlsx([{ name: 's', rows }]), 'xlsx', format);
  const cells = read(bytes, { dense: true, sheetStubs: true }).Sheets['s']?.['!data']?.[0];
  expect(cells?.map(({ w, v, f }) => [w ?? v, f])).toMatchObject([
    ['#DIV/0!', '1/0'],
    [expect.anything(), 'SUM(1,2)'],
    ['x', undefined],
  ]);
  expect(Object.keys(warnings)).toEqual(['LOOK_LOST']);
});

describe('an ODS spreadsheet', () => {
  it('reports hidden rows and pictures', async () => {
    const plain = await convert(ods(odsRow('a') + odsRow('b')), 'ods', 'csv');
    expect(plain).toMatchObject({ text: 'a\r\nb\r\n', warnings: {} });
    const shapes = '<table:shapes><draw:frame/></table:shapes>';
    const rows = shapes + odsRow('a') + odsRow('b', 'table:visibility="collapse"');
    const { text, warnings } = await convert(ods(rows), 'ods', 'csv');
    expect([text, Object.keys(warnings)]).toEqual(['a\r\n', ['DRAWINGS_LOST', 'HIDDEN_CELLS_LOST']]);
    const chart = zipEntry('Object 1/content.xml', '<office:document-content/>');
    expect(await convert(ods(rows, [chart]), 'ods', 'csv')).toMatchObject({ text, warnings });
  });

  it('keeps the names of its sheets, including special characters', async () => {
    const named = xlsx(
      ['R&amp;D', 'a &lt; b'].map((name) => ({ name, rows: `<row r="1">${inline('A1', 'x')}</row>` })),
    );
    const book = await convert(named, 'xlsx', 'ods');
    expect(Object.keys(book.warnings)).toEqual(['LOOK_LOST']);
    const { warnings } = await convert(book.bytes, 'ods', 'csv');
    expect(warnings['SHEETS_LOST']).toMatch(/^Only the sheet R&D was converted, not a < b\./);
    expect(read((await convert(book.bytes, 'ods', 'xlsx')).bytes).SheetNames).toEqual(['R&D', 'a < b']);
  });

  it('keeps the content of covered cells', async () => {
    const above = odsRow('a').replace('<table:table-cell', '$& table:number-rows-spanned="2"');
    const below = odsRow('b').replaceAll(':table-cell', ':covered-table-cell');
    expect(await convert(ods(above + below), 'ods', 'csv')).toMatchObject({ text: 'a\r\nb\r\n', warnings: {} });
  });

  it('from a library, whose cells have values but no texts, is complete', async () => {
    const cells = [
      'date" office:date-value="2024-03-05T13:45:00',
      'time" office:time-value="PT13H45M00S',
      'percentage" office:value="0.255',
      'currency" office:currency="EUR" office:value="12.5',
      'boolean" office:boolean-value="true',
      'string" office:string-value="R&amp;D',
      'float" office:value="7',
    ].map((value) => `<table:table-cell office:value-type="${value}"/>`);
    const { text, warnings } = await convert(ods(`<table:table-row>${cells.join('')}</table:table-row>`), 'ods', 'csv');
    expect([text, warnings]).toEqual(['2024-03-05 13:45:00,13:45:00,0.255,12.5,TRUE,R&D,7\r\n', {}]);
  });

  it('is refused if it is something else or no archive', async () => {
    await expect(convert(xlsx([{ rows: '' }]), 'ods', 'csv')).rejects.toThrow(ConversionFailure);
    await expect(convert('hello', 'ods', 'csv')).rejects.toThrow(/not a ODS document: it is no zip archive/);
  });
});

/** A handwritten ODS file; `rows` are `table-row` elements. */
function ods(rows: string, objects: readonly ZipEntry[] = []): Buffer {
  const content = `<office:document-content xmlns:office="o" xmlns:table="t" xmlns:text="x" xmlns:draw="d"><office:body><office:spreadsheet><table:table table:name="s">${rows}</table:table></office:spreadsheet></office:body></office:document-content>`;
  return zip([
    zipEntry('mimetype', 'application/vnd.oasis.opendocument.spreadsheet'),
    zipEntry('META-INF/manifest.xml', '<manifest:manifest xmlns:manifest="m"/>'),
    zipEntry('styles.xml', '<office:document-styles/>'),
    ...objects,
    zipEntry('content.xml', content),
  ]);
}

const odsRow = (text: string, attributes = ''): string =>
  `<table:table-row ${attributes}><table:table-cell office:value-type="string"><text:p>${text}</text:p></table:table-cell></table:table-row>`;
