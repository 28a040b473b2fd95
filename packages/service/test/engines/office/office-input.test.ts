import { textOfPart } from '../../../src/engines/archive';
import { officeFileName, readableOffice } from '../../../src/engines/office/office-input';
import { docx, para, run } from '../docx';
import { odf } from '../odf';
import { xlsx } from '../xlsx';

/** Changes to files before LibreOffice opens them. */

const by = 'w:id="1" w:author="a"';
const deleted = (text: string) => `<w:del ${by}><w:r><w:delText>${text}</w:delText></w:r></w:del>`;

describe('tracked changes are accepted for printing', () => {
  const textOf = (file: Buffer, part: string) => textOfPart(file, part).replace(/<[^<>]*>/g, '');

  it.each([
    ['deleted text', run('Kept ') + deleted('gone'), 'Kept '],
    ['inserted text', `<w:ins ${by}>${run('New')}</w:ins>`, 'New'],
    ['text that was deleted after it was inserted', `<w:ins ${by}>${run('New')}${deleted('gone')}</w:ins>`, 'New'],
    ['text that was moved away', `<w:moveFrom ${by}>${run('gone')}</w:moveFrom>${run('Kept')}`, 'Kept'],
    ['a deleted box', `<w:del ${by}>${run('gone')}<w:txbxContent>${deleted('too')}</w:txbxContent></w:del>`, ''],
    ['a deleted end of a paragraph', `<w:rPr><w:del ${by}/></w:rPr>${run('Kept')}`, 'Kept'],
  ])('in Word: %s', (_title, content, text) => {
    const file = docx(para(content), { settings: '<w:zoom/>' });
    expect(textOf(readableOffice('docx', 'pdf', file), 'word/document.xml')).toBe(text);
    expect(textOfPart(readableOffice('docx', 'pdf', file), 'word/settings.xml')).toMatch(
      /<w:settings [^>]*><w:revisionView [^>]*w:insDel="0"[^>]*\/><w:zoom\/>/,
    );
    expect(readableOffice('docx', 'odt', file)).toBe(file);
  });

  it('in OpenDocument', () => {
    const changes = `<text:tracked-changes><text:changed-region text:id="c"><text:deletion><text:p>gone</text:p></text:deletion></text:changed-region></text:tracked-changes>`;
    const body = `<text:p>Kept<text:change text:change-id="c"/><text:change-start text:change-id="d"/>New<text:change-end text:change-id="d"/></text:p>`;
    const file = odf({ kind: 'text', body: changes + body });
    expect(textOf(readableOffice('odt', 'pdf', file), 'content.xml')).toBe('KeptNew');
    const without = odf({ kind: 'text', body: `<text:tracked-changes text:track-changes="false"/>${body}` });
    expect(textOf(readableOffice('odt', 'pdf', without), 'content.xml')).toBe('KeptNew');
  });

  it('without any, the document stays unchanged', () => {
    const file = docx(para('Kept'), { settings: '<w:trackRevisions/>' });
    expect(readableOffice('docx', 'pdf', file)).toBe(file);
  });
});

it('gives TRUE and FALSE a format for printing, in addition to the format of the cell', () => {
  const rows =
    '<row r="1"><c r="A1" t="b"><v>1</v></c><c r="B1" s="1" t="b"><f>A1</f><v>1</v></c><c r="C1"><v>1</v></c></row>';
  const book = xlsx([{ rows }], { formats: ['0.00'], after: '<calcPr calcMode="manual"/>' });
  const printed = readableOffice('xlsx', 'pdf', book);
  const styles = [...textOfPart(printed, 'xl/worksheets/sheet1.xml').matchAll(/<c [^>]*?s="(\d)"/g)].map(([, s]) => s);
  const formats = textOfPart(printed, 'xl/styles.xml').match(/(?<=<cellXfs.*)<xf [^>]*>/g) ?? [];
  expect(styles.map((style) => formats[Number(style)])).toEqual(Array(2).fill(expect.stringContaining('"4095"')));
  expect(textOfPart(printed, 'xl/styles.xml')).toMatch(/<numFmts[^>]*><numFmt numFmtId="4095" formatCode="&quot;TRUE/);
  for (const writer of ['pdf', 'xls']) {
    expect(textOfPart(readableOffice('xlsx', writer, book), 'xl/workbook.xml')).toContain('<calcPr/>');
  }
  expect(textOfPart(readableOffice('xlsx', 'xls', book), 'xl/worksheets/sheet1.xml')).toContain(rows);
});

it('gives a size to a chart that is a whole sheet', () => {
  const drawing = (name: string, size: string) =>
    `<xdr:${name}><xdr:pos x="0" y="0"/><xdr:ext ${size}/><xdr:graphicFrame><a:ext cx="0" cy="0"/></xdr:graphicFrame></xdr:${name}>`;
  const more = {
    'xl/drawings/drawing1.xml': drawing('absoluteAnchor', 'cx="0" cy="0"') + drawing('oneCellAnchor', 'cx="0" cy="0"'),
    'xl/drawings/drawing2.xml': drawing('absoluteAnchor', 'cx="5" cy="7"'),
  };
  const opened = readableOffice('xlsx', 'pdf', xlsx([{ rows: '' }], { more }));
  expect(textOfPart(opened, 'xl/drawings/drawing1.xml')).toBe(
    drawing('absoluteAnchor', 'cx="9300000" cy="6000000"') + drawing('oneCellAnchor', 'cx="0" cy="0"'),
  );
  expect(textOfPart(opened, 'xl/drawings/drawing2.xml')).toBe(more['xl/drawings/drawing2.xml']);
});

it.each([
  ['is as its owner named it', 'Vertrag #4 (50% é) 日本', 'Vertrag #4 (50% é) 日本.docx'],
  ['is no path', '../../etc/pass\\wd', '_._.._etc_pass_wd.docx'],
  ['is no option and no hidden file', '-o.x', '_o.x.docx'],
  ['has no signs that nobody sees', 'a\u0000b\nc\u202ed', 'a_b_c_d.docx'],
  ['is short enough for a disk', 'é'.repeat(150), `${'é'.repeat(100)}.docx`],
  ['ends with a whole letter where it is cut off', `a${'é'.repeat(150)}`, `a${'é'.repeat(99)}.docx`],
  ['is never empty', '', 'input.docx'],
])('the name of the file that LibreOffice opens %s', (_rule, title, expected) => {
  expect(officeFileName({ title, inputFormat: 'docx' })).toBe(expected);
});
