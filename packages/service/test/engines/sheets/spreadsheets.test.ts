import fc from 'fast-check';
import { ConversionFailure } from '../../../src/engines/conversion';
import { spreadsheetDocument } from '../../../src/engines/sheets/spreadsheet';
import { serviceOfAllTests } from '../../support';
import { relation, relationsOf } from '../archives';
import { docxBomb } from '../bombs';
import { odf } from '../odf';
import { cellsOf } from '../tables';
import { inline, type SheetSource, xlsx } from '../xlsx';

/** Every cell of an XLSX spreadsheet is in the result, or a warning or an error reports it. */

async function read(file: Buffer, writer = 'docx') {
  const { json, warnings } = await spreadsheetDocument(file, writer);
  return { tables: cellsOf(json), json, warnings };
}

const rowsOf = async (rows: string, source?: Parameters<typeof xlsx>[1]): Promise<string[][]> =>
  (await read(xlsx([{ rows }], source))).tables[0] ?? [];

describe('the texts of a spreadsheet', () => {
  const strings = '<si><t>first</t></si><si><r><t>sec</t></r><r><rPr><b/></rPr><t>ond</t></r></si>';

  it.each([
    ['shared by cells', '<c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c>'],
    ['in the cells themselves', `${inline('A1', 'first')}${inline('B1', 'second')}`],
    ['results of formulas', '<c r="A1" t="str"><f>x()</f><v>first</v></c><c r="B1" t="str"><v>second</v></c>'],
    [
      'in cells without an address',
      '<c t="inlineStr"><is><t>first</t></is></c><c t="inlineStr"><is><r><t>sec</t></r><r><t>ond</t></r></is></c>',
    ],
  ])('are read: %s', async (_title, cells) => {
    for (const target of ['relative', 'absolute'] as const) {
      expect(await rowsOf(`<row r="1">${cells}</row>`, { strings, target })).toEqual([['first', 'second']]);
    }
  });

  it('are read character by character, whatever they contain', async () => {
    const text = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }).filter((each) => each.trim() === each);
    const property = fc.asyncProperty(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 8 }), async (rows) => {
      const escaped = (each: string) =>
        each.replace(/[&<>\u{10000}-\u{10ffff}]/gu, (letter) => `&#${letter.codePointAt(0)};`);
      const xml = rows.map(
        ([a, b], y) => `<row r="${y + 1}">${inline(`A${y + 1}`, escaped(a))}${inline(`C${y + 1}`, escaped(b))}</row>`,
      );
      const single = (each: string) => each.replace(/[ \t\f\v]+/g, ' ');
      expect(await rowsOf(xml.join(''))).toEqual(rows.map(([a, b]) => [single(a), '', single(b)]));
    });
    await fc.assert(property, { numRuns: 50 });
  });

  it('are read from XML in UTF-16 and with namespace prefixes', async () => {
    const part = `<?xml version="1.0" encoding="UTF-16"?><x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:sheetData><x:row r="1"><x:c r="A1" t="inlineStr"><x:is><x:t>Größe</x:t></x:is></x:c></x:row></x:sheetData></x:worksheet>`;
    for (const each of [part.replace('UTF-16', 'UTF-8'), Buffer.from(`\ufeff${part}`, 'utf16le')]) {
      expect((await read(xlsx([{ rows: '', part: each }]))).tables).toEqual([[['Größe']]]);
    }
  });
});

describe('values of a spreadsheet look as in a spreadsheet program', () => {
  const day = 46024;
  it.each([
    ['General', 0.1 + 0.2, '0.3'],
    ['General', 1234567890123, '1234567890123'],
    ['#,##0.00', 1234.5, '1,234.50'],
    // Halves without an exact binary form are rounded like in spreadsheet programs.
    ['0.00', 2.675, '2.68'],
    ['#,##0.00', 2.675, '2.68'],
    ['#,##0.00', -1.005, '-1.01'],
    ['0%', 0.285, '29%'],
    ['0.00', 1.00499999999999, '1.00'],
    ['0.0%', 0.155, '15.5%'],
    ['000000', 7, '000007'],
    ['[&lt;=9999999]###-####;(###) ###-####', 15551234567, '(1555) 123-4567'],
    ['&quot;0-0 &quot;00-00', -12345, '-0-0 123-45'],
    ['yyyy-mm-dd', day, '2026-01-02'],
    ['dd/mm/yyyy hh:mm', day + 0.5, '02/01/2026 12:00'],
    ['[h]:mm', 1.25, '30:00'],
    ['[h]:mm', -1.25, '-30:00'],
    ['h:mm;[Red]-h:mm', -0.5, '-12:00'],
    ['General&quot; kg&quot;', 5, '5 kg'],
    ['General\\ &quot;General&quot;', 0.1 + 0.2, '0.3 General'],
    ['[$₹-4009]#,##,##0.00', 1234.5, '₹1,234.50'],
    // Locale-dependent and invalid formats fall back to an unambiguous form.
    ['m/d/yy h:mm', day + 0.5, '2026-01-02 12:00:00'],
    ['[$-407]d. mmmm yyyy', day, '2026-01-02'],
    ['[$-411]ggge&quot;年&quot;m&quot;月&quot;d&quot;日&quot;', day, '2026-01-02'],
    ['yyyy/m/d\\(aaa\\)', day, '2026-01-02'],
    ['aaaa', day, '46024'],
    ['d-mmm &quot;aaa&quot;', day, '2-Jan aaa'],
    ['&quot;open', 3, '3'],
    ['00-00°C', 3, '3'],
    // A format cannot hide a value, and an invalid date is shown as a number.
    [';;;', 3, '3'],
    ['yyyy', 1e12, '1000000000000'],
  ])('in the format %s', async (format, value, shown) => {
    const rows = `<row r="1"><c r="A1" s="1"><v>${value}</v></c></row>`;
    expect(await rowsOf(rows, { formats: [format] })).toEqual([[shown]]);
  });

  it('counts days from 1904 if the file says so', async () => {
    const rows = `<row r="1"><c r="A1" s="1"><v>1</v></c></row>`;
    const before = '<workbookPr date1904="1"/>';
    expect(await rowsOf(rows, { formats: ['yyyy-mm-dd'], before })).toEqual([['1904-01-02']]);
    expect(await rowsOf(rows.replace('1</v>', '-0.5</v>'), { formats: ['[h]:mm'], before })).toEqual([['-12:00']]);
  });

  it('includes booleans, errors, ISO dates and results of formulas', async () => {
    const rows = `<row r="1"><c r="A1" t="b"><v>1</v></c><c r="B1" t="e"><v>#DIV/0!</v></c><c r="C1" t="d"><v>2026-01-02T03:04:05</v></c><c r="D1"><f>1+1</f><v>2</v></c></row>`;
    expect(await rowsOf(rows)).toEqual([['TRUE', '#DIV/0!', '2026-01-02 03:04:05', '2']]);
  });
});

describe('a workbook', () => {
  it('has each sheet in the result with its name', async () => {
    const sheets = ['Jan', 'Feb', 'Empty'].map((name) => ({
      name,
      rows: name === 'Empty' ? '' : `<row r="2">${inline('B2', `of ${name}`)}</row>`,
    }));
    const { tables, json } = await read(xlsx(sheets));
    expect(tables).toEqual([[['of Jan']], [['of Feb']]]);
    for (const { name } of sheets) expect(json).toContain(`"${name}"`);
  });

  it('has merged cells and links', async () => {
    const rows = `<row r="1">${inline('A1', 'wide')}${inline('C1', 'x')}</row><row r="2">${inline('A2', 'a')}${inline('B2', 'b')}${inline('C2', 'c')}</row>`;
    const link = 'https://example.com/?a=1';
    const after =
      '<mergeCells><mergeCell ref="A1:B1"/></mergeCells><hyperlinks><hyperlink ref="A2" r:id="l1"/></hyperlinks>';
    const links = [relation('l1', 'hyperlink', `${link}" TargetMode="External`)];
    const file = xlsx([{ rows, after }], { more: { 'xl/worksheets/_rels/sheet1.xml.rels': relationsOf(links) } });
    const { tables, json } = await read(file);
    expect(tables).toEqual([
      [
        ['wide', 'x'],
        ['a', 'b', 'c'],
      ],
    ]);
    expect(json).toContain(link);
    const page = (await read(file, 'html5')).json;
    expect(page).toContain('<th rowspan=\\"1\\" colspan=\\"2\\">wide</th>');
    expect(page).toContain(`<a href=\\"${link}\\">a</a>`);
  });
});

describe('lost content gives a warning', () => {
  const cell = `<row r="1">${inline('A1', 'seen')}</row>`;
  const cases: [string, SheetSource[], Parameters<typeof xlsx>[1], string, RegExp][] = [
    [
      'a hidden sheet',
      [{ rows: cell }, { name: 'Costs', state: 'veryHidden', rows: cell }],
      {},
      'HIDDEN_CELLS_LOST',
      /hidden: sheet Costs\. Show it/,
    ],
    [
      'hidden rows and columns',
      [
        {
          before: '<cols><col min="2" max="2" hidden="1"/></cols>',
          rows: `<row r="1">${inline('A1', 'seen')}${inline('B1', 'x')}</row><row r="2" hidden="1">${inline('A2', 'y')}</row>`,
        },
      ],
      {},
      'HIDDEN_CELLS_LOST',
      /2 cell\(s\) of sheet Sheet 1/,
    ],
    [
      'cells behind merged ones',
      [
        {
          rows: `<row r="1">${inline('A1', 'seen')}${inline('B1', 'x')}</row>`,
          after: '<mergeCells><mergeCell ref="A1:B1"/></mergeCells>',
        },
      ],
      {},
      'HIDDEN_CELLS_LOST',
      /1 cell\(s\)/,
    ],
    ['a drawing', [{ rows: cell }], { more: { 'xl/drawings/drawing1.xml': '<x/>' } }, 'DRAWINGS_LOST', /charts/],
    [
      'the result of a formula that is not in the file, which is shown itself',
      [{ rows: `<row r="1"><c r="A1"><f>"se"&amp;"en"</f></c></row>` }],
      {},
      'FORMULAS_NOT_CALCULATED',
      /^1 cell\(s\) show a formula/,
    ],
    [
      'a result that the program that wrote it calls provisional',
      [{ rows: `<row r="1">${inline('A1', 'seen')}<c r="B1"><f>1+1</f><v>0</v></c></row>` }],
      { after: '<calcPr fullCalcOnLoad="1"/>' },
      'FORMULAS_MAY_BE_WRONG',
      /1 result\(s\) may be wrong/,
    ],
  ];

  it.each(cases)('%s', async (_title, sheets, source, name, message) => {
    const { tables, warnings } = await read(xlsx(sheets, source));
    expect(Object.keys(warnings)).toEqual([name]);
    expect(warnings[name]).toMatch(message);
    expect(tables[0]?.[0]?.[0]).toMatch(/seen|="se"&"en"/);
    expect(JSON.stringify(tables)).not.toMatch(/[xy]"/);
  });
});

it('reports a custom header of an ODS, but not one that Calc generates', async () => {
  const header = (line: string, more = '') => `<style:header${more}><text:p>${line}</text:p></style:header>`;
  const read = async (headers: string) => {
    const body =
      '<table:table><table:table-row><table:table-cell office:value-type="string"><text:p>seen</text:p></table:table-cell></table:table-row></table:table>';
    const styles = `<office:master-styles><style:master-page>${headers}</style:master-page></office:master-styles>`;
    return (await spreadsheetDocument(odf({ kind: 'spreadsheet', body, styles }), 'docx', 'ods')).warnings;
  };
  expect(await read(header('Confidential'))).toEqual({
    HEADERS_LOST: 'Headers and footers of pages are not in the result: 1 word(s) (CONFIDENTIAL).',
  });
  const unseen = header('Page <text:page-number>1</text:page-number>') + header('Off', ' style:display="false"');
  expect(await read(unseen)).toEqual({});
});

describe('a spreadsheet that cannot be read completely', () => {
  const whole = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">${inline('A1', 'a')}</row></sheetData></worksheet>`;
  it.each<[string, SheetSource]>([
    ['a sheet is not there', { rows: '', part: undefined }],
    ['a sheet is cut off', { rows: '', part: whole.slice(0, -40) }],
    ['a text is not there', { rows: `<row r="1"><c r="A1" t="s"><v>7</v></c>${inline('B1', 'b')}</row>` }],
    ['a number is none', { rows: `<row r="1"><c r="A1"><v>abc</v></c></row>` }],
    ['a date is none', { rows: `<row r="1"><c r="A1" t="d"><v>abc</v></c></row>` }],
  ])('is refused if %s', async (_title, sheet) => {
    const file = xlsx([sheet, { name: 'Other', rows: '' }], { strings: '<si><t>x</t></si>' });
    await expect(read(file)).rejects.toThrow(/^The spreadsheet is damaged.* save it as XLSX and convert it again\.$/);
  });

  it('is refused with the name of the sheet whose part is missing', async () => {
    await expect(
      read(xlsx([{ rows: `<row r="1">${inline('A1', 'a')}</row>` }, { name: 'Costs', rows: '', part: undefined }])),
    ).rejects.toThrow(/lists the sheet Costs, but the part with its cells is missing or empty\. Open it/);
  });

  it('is refused if all its sheets are hidden', async () =>
    await expect(read(xlsx([{ state: 'hidden', rows: '' }]))).rejects.toThrow(/all of its sheets are hidden/));

  it('is refused if it has too many cells to convert in time, however small the file', async () => {
    const far = (address: string, y: number) =>
      xlsx([{ rows: `<row r="1">${inline('A1', 'a')}</row><row r="${y}">${inline(`${address}${y}`, 'b')}</row>` }]);
    await expect(read(far('XFD', 1_048_576))).rejects.toThrow(ConversionFailure);
    await expect(read(far('J', 5_001))).rejects.toThrow(/has 50010 cells, .* at most 50000, or 500000 to html\./);
    expect((await read(far('J', 5_000))).tables[0]).toHaveLength(5_000);
    expect((await read(far('J', 50_000), 'html5')).json).toContain('>b</td>');
    await expect(read(far('J', 50_001), 'html5')).rejects.toThrow(/at most 500000\. Split the file/);
  });

  it('is refused if many cells share one long text', async () => {
    const strings = `<si><t>${'long '.repeat(6_000)}</t></si>`;
    const rows = `<row r="1">${'<c t="s"><v>0</v></c>'.repeat(2_000)}</row>`;
    await expect(rowsOf(rows, { strings })).rejects.toThrow(/letters; the engines convert at most 50000000/);
  });
});

describe('the service', () => {
  const { client } = serviceOfAllTests({ conversionConcurrency: 1 });

  const rows = `<row r="1">${inline('A1', 'Größe &amp; &lt;b&gt;')}${inline('B1', 'two&#10;lines')}</row><row r="2"><c r="A2"><v>7</v></c></row>`;

  it('keeps every cell of a spreadsheet in every format', async () => {
    const data = xlsx([{ name: 'Plan', rows }], { target: 'absolute' });
    const html = (await client.convertToBytes({ name: 'a.xlsx', data }, 'html')).bytes.toString('utf8');
    expect(html).toMatch(/<h2[^>]*>Plan<\/h2>/);
    expect(html).toMatch(/<th>Größe &#38; &#60;b&#62;<\/th>\s*<th>two<br \/>\s*lines<\/th>[^]*<td>7<\/td>/);
    const docx = await client.convertToBytes({ name: 'a.xlsx', data }, 'docx');
    const text = (await client.convertToBytes({ name: 'a.docx', data: docx.bytes }, 'txt')).bytes.toString('utf8');
    for (const part of ['Plan', 'Größe & <b>', 'two', 'lines', '7']) expect(text).toContain(part);
    const pdf = await client.convertToBytes({ name: 'a.xlsx', data }, 'pdf');
    expect(pdf.bytes.subarray(0, 5).toString()).toBe('%PDF-');
  });

  const row = (y: number) => `<row r="${y}">${inline(`A${y}`, `a${y}`)}${inline(`B${y}`, `b${y}`)}</row>`;
  const head = `${row(1)}<row r="2">${inline('A2', 'a2')}</row>`;
  it.each([
    ['before another row', 'A2:B3', `${head}${row(4)}`],
    ['before the last row', 'A2:B4', `${head}${row(4)}${row(5)}`],
    ['as the last rows', 'A2:B3', `${head}<row r="3">${inline('B3', 'b3')}</row>`],
    ['as the first rows', 'A1:B2', `<row r="1">${inline('A1', 'a1')}</row>${row(3)}`],
    ['in a single column', 'A1:A2', `<row r="1">${inline('A1', 'a1')}</row><row r="3">${inline('A3', 'a3')}</row>`],
  ])('typesets merged cells that cover whole rows %s', async (_title, ref, merged) => {
    const data = xlsx([{ rows: merged, after: `<mergeCells><mergeCell ref="${ref}"/></mergeCells>` }]);
    const html = await client.convertToBytes({ name: 'a.xlsx', data }, 'html');
    expect(html.bytes.toString('utf8')).toMatch(/ rowspan="[23]"/);
    for (const input of [
      { name: 'a.xlsx', data },
      { name: 'a.html', data: html.bytes },
    ]) {
      expect((await client.convertToBytes(input, 'pdf')).bytes.subarray(0, 5).toString()).toBe('%PDF-');
    }
  });

  it.each<[string, () => Buffer, RegExp]>([
    ['encrypted, or older', () => Buffer.from('d0cf11e0a1b11ae1', 'hex'), /encrypted, or .* Remove its password/],
    ['text', () => Buffer.from('a,b\n1,2\n'), /no zip archive/],
    ['a bomb', () => docxBomb(600), /unpacks to 601 MiB/],
    ['cut off', () => xlsx([{ rows }]).subarray(0, 900), /damaged/],
  ])('refuses a file with a reason if it is %s', async (_title, create, message) => {
    const { error } = await client.convert({ name: 'a.xlsx', data: create() }, 'html');
    expect(error).toEqual({ code: 'FAILED_CONVERT', message: expect.stringMatching(message) as string });
  });
});
