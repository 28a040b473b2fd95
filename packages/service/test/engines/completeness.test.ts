import { describeUnkept, describeUnread, describeUnprinted, describeUnwritten } from '../../src/engines/completeness';
import { textOfPart } from '../../src/engines/archive';
import { readableOpenText, readableSlides } from '../../src/engines/office/office-texts';
import { isHere, programs } from '../../src/engines/programs';
import { readableWord } from '../../src/engines/office/word-document';
import { docx, para, run } from './docx';
import { odf } from './odf';
import { printed } from './pdfs';
import { pptx, shape } from './pptx';
import { requestOf } from './requests';
import { inline, xlsx } from './xlsx';

/** Warnings about what the pages of a program lack of an office file; the pages are written by hand instead of printed. */

const unprinted = async (reader: string, file: Buffer, line: string) =>
  describeUnprinted(requestOf(reader, 'pdf'), file, printed(line));

const equation = (text: string) => `<m:oMath><m:r><m:t>${text}</m:t></m:r></m:oMath>`;
const mathObject = {
  'Object 1/content.xml':
    '<math><semantics><mrow><mi>kinetic</mi></mrow><annotation>kinetic</annotation></semantics></math>',
};
const openFormula = odf({
  kind: 'text',
  body: '<text:p>Kept<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></text:p>',
  more: mathObject,
});

/** Without the equation component of LibreOffice, equations are counted as such. */
const equationLost = (text: string) =>
  isHere(programs.math)
    ? { TEXT_LOST: text }
    : { EQUATIONS_LOST: expect.stringMatching(/^1 equation\(s\) .*libreoffice-math-nogui$/) as string };

const unprintedCells = (cells: string) =>
  `Left out, because the file has an area to be printed in which they are not: ${cells}. Remove the print area to have them converted.`;

describe('the warnings about printed pages', () => {
  it.each(['xlsx', 'xls'])(
    'count numbers in columns that are too narrow (%s), but not ### in a text',
    async (reader) => {
      const sheet = xlsx([{ rows: `<row r="1">${inline('A1', 'Rated ###')}<c r="B1"><v>1234567.5</v></c></row>` }]);
      const data = reader === 'xlsx' ? sheet : Buffer.from('of an old program');
      expect(await unprinted(reader, data, reader === 'xlsx' ? 'Rated ### ### ###' : '### ###')).toEqual({
        CELLS_TOO_NARROW: expect.stringMatching(/^2 cell\(s\) show ### in place of a number or a date/) as string,
      });
    },
  );

  it('count missing cells of the print area as lost, and cells outside as not printed', async () => {
    const rows = `<row r="1">${inline('A1', 'Lost')}${inline('B1', 'Kept')}${inline('C1', 'Outside')}</row><row r="2">${inline('A2', 'Below')}</row>`;
    const after =
      '<definedNames><definedName name="_xlnm.Print_Area" localSheetId="0">\'A, b\'!$A$1:$B$1</definedName></definedNames>';
    expect(await unprinted('xlsx', xlsx([{ name: 'A, b', rows }], { after }), 'Kept')).toEqual({
      TEXT_LOST: 'Not on the pages of the PDF: 1 word(s) (LOST) of the document.',
      UNPRINTED_CELLS_LOST: unprintedCells('2 cell(s) of sheet A, b'),
    });
  });

  it('count cells outside all print areas of their sheet, except the titles of each page', async () => {
    const rows = ['A', 'B', 'C'].map((x) => inline(`${x}1`, 'Kept')).join('');
    const book = (...names: string[]) =>
      xlsx([{ name: 'One', rows: `<row r="1">${rows}</row>` }], {
        after: `<definedNames>${names.map((each) => `<definedName localSheetId="0" name="_xlnm.Print_${each}</definedName>`).join('')}</definedNames>`,
      });
    const areas = 'Area">One!$A$1,One!$C$1:$D$9';
    const line = 'Kept '.repeat(3);
    expect(await unprinted('xlsx', book(areas), line)).toEqual({
      UNPRINTED_CELLS_LOST: unprintedCells('1 cell(s) of sheet One'),
    });
    for (const titles of ['One!$1:$1', 'One!$B:$B']) {
      expect(await unprinted('xlsx', book(areas, `Titles">${titles}`), line)).toEqual({});
    }
    expect(await unprinted('xlsx', book('Area">OFFSET(One!$A$1,0,0,1,1)'), line)).toEqual({});
    const sheet = (attributes: string) =>
      `<table:table ${attributes}><table:table-row>${cells}</table:table-row></table:table>`;
    const cells = '<table:table-cell office:value-type="string"><text:p>Kept</text:p></table:table-cell>'.repeat(3);
    const body = [
      sheet("table:name=\"O'ne\" table:print-ranges=\"&apos;O''ne&apos;.A1:&apos;O''ne&apos;.A9 $'O''ne'.$C$1\""),
      sheet('table:name="Two"'),
      sheet('table:name="Three" table:print="false"'),
    ].join('');
    expect(await unprinted('ods', odf({ kind: 'spreadsheet', body }), line)).toEqual({
      UNPRINTED_CELLS_LOST: unprintedCells("1 cell(s) of sheet O'ne, 3 cell(s) of sheet Three"),
    });
  });

  it.each([
    ['docx', docx(para(`${run('Kept')}${equation('kinetic')}`))],
    ['odt', openFormula],
  ])('count an equation (%s)', async (reader, file) => {
    const lost = 'Not on the pages of the PDF: 1 word(s) (KINETIC) of the document.';
    expect(await unprinted(reader, file, 'Kept')).toEqual(equationLost(lost));
  });

  it('count text that an EQ field of Word draws', async () => {
    const code = String.raw`EQ \* jc2 \* "Font:MS Mincho" \o\ad(\s\up 9(reading),base)`;
    const mark = (type: string) => `<w:r><w:fldChar w:fldCharType="${type}"/></w:r>`;
    const field = `${mark('begin')}<w:r><w:instrText> ${code} </w:instrText></w:r>${mark('end')}`;
    expect(await unprinted('docx', docx(para(run('Kept') + field)), 'Kept base')).toEqual({
      TEXT_LOST: 'Not on the pages of the PDF: 1 word(s) (READING) of the document.',
    });
  });

  it('do not count words joined to a field', async () => {
    const body = '<text:p>Kept<text:chapter text:display="name">old</text:chapter>also</text:p>';
    expect(await unprinted('odt', odf({ kind: 'text', body }), 'Keptnewalso')).toEqual({});
  });

  it('do not count an equation with a replacement picture', async () => {
    const picture = { ...mathObject, 'ObjectReplacements/Object 1': 'drawn' };
    const drawn = odf({ kind: 'text', body: '<text:p>Kept</text:p>', more: picture });
    expect(await unprinted('odt', drawn, 'Kept')).toEqual({});
    const old = docx(para(run('Kept') + equation('kinetic')));
    expect(await describeUnprinted(requestOf('docx', 'pdf'), old, printed('Kept'), { isCopy: true })).toEqual({});
  });

  it('count hidden text, slides, sheets, rows and columns, and cells covered by a merged cell', async () => {
    const hidden = (what: string) => `Left out, because it is hidden: ${what}. Show it to have it converted.`;
    const text = docx(para(run('Kept') + run('Secret', '<w:vanish/>')));
    expect(await unprinted('docx', text, 'Kept')).toEqual({ HIDDEN_TEXT_LOST: hidden('1 word(s) (SECRET)') });
    const styles =
      '<w:style w:styleId="A"><w:rPr><w:vanish/></w:rPr></w:style><w:style w:styleId="B"><w:basedOn w:val="A"/></w:style><w:style w:styleId="C"><w:basedOn w:val="A"/><w:rPr><w:vanish w:val="0"/></w:rPr></w:style>';
    const [byRun, byParagraph] = ['B', 'A'].map((name, index) => `<w:${'rp'[index]}Style w:val="${name}"/>`);
    const styled = docx(
      para(run('Kept', '<w:rStyle w:val="C"/>') + run('Secret', byRun)) +
        para(`${run('Shown', '<w:vanish w:val="0"/>')}<w:r><w:t>Price</w:t></w:r>`, byParagraph) +
        para('Open'),
      { styles },
    );
    expect(await unprinted('docx', styled, 'Kept Shown Open')).toEqual({
      HIDDEN_TEXT_LOST: hidden('2 word(s) (SECRET, PRICE)'),
    });
    expect(textOfPart(readableWord(styled), 'word/document.xml').replace(/<[^<>]*>/g, '')).toBe('KeptShownOpen');
    const rtf = Buffer.from(String.raw`{\rtf1{\stylesheet{\s1\v Style;}}Kept {\v Sec{\b ret} }{\v\f0\v0 Shown}\par}`);
    expect(await unprinted('rtf', rtf, 'Kept')).toEqual({ HIDDEN_TEXT_LOST: hidden('1 word(s) (SECRET)') });
    const slides = pptx([{ shapes: ['Kept'] }, { shapes: ['Unseen'], isHidden: true }]);
    expect(await unprinted('pptx', slides, 'Kept')).toEqual({ HIDDEN_TEXT_LOST: hidden('1 slide(s)') });
    const away = shape('Away').replace('<p:cNvPr ', '<p:cNvPr hidden="1" ');
    const group = (attributes: string, shapes: string) =>
      `<p:grpSp><p:nvGrpSpPr><p:cNvPr id="9" name=""${attributes}/></p:nvGrpSpPr>${shapes}</p:grpSp>`;
    const shapes = pptx([
      { shapes: ['Kept'], drawn: group('', shape('Also') + away) + group(' hidden="1"', shape('Grouped') + away) },
      { shapes: ['Unseen'], isHidden: true },
    ]);
    expect(await unprinted('pptx', shapes, 'Kept Also')).toEqual({
      HIDDEN_TEXT_LOST: hidden('3 word(s) (AWAY, GROUPED) and 1 slide(s)'),
    });
    expect(textOfPart(readableSlides(shapes), 'ppt/slides/slide1.xml').replace(/<[^<>]*>/g, '')).toBe('KeptAlso');
    const page = (style: string, word: string) =>
      `<draw:page draw:style-name="${style}"><text:p>${word}</text:p></draw:page>`;
    const notes = '<presentation:notes><text:p>Spoken</text:p></presentation:notes>';
    const style = (name: string, visibility: string) =>
      `<style:style style:name="${name}"><style:drawing-page-properties presentation:visibility="${visibility}"/></style:style>`;
    const open = odf({
      kind: 'presentation',
      body: page('a', 'Kept') + page('b', `Unseen${notes}`),
      automaticStyles: style('a', 'visible') + style('b', 'hidden'),
    });
    expect(await unprinted('odp', open, 'Kept')).toEqual({
      HIDDEN_TEXT_LOST: hidden('1 slide(s)'),
      NOTES_LOST: "The speaker's notes of 1 slide(s) are not in the result.",
    });
    const display = (name: string, value: string, parent = 'Standard') =>
      `<style:style style:family="text" style:name="${name}" style:parent-style-name="${parent}"><style:text-properties text:display="${value}"/></style:style>`;
    const hiddenText = odf({
      kind: 'text',
      body: '<text:p>Kept<text:span text:style-name="A">Secret<text:span>Inner</text:span></text:span><text:p text:style-name="B">Price</text:p><text:p text:style-name="C"/><text:span text:style-name="C">Open</text:span></text:p><text:p text:style-name="D"> too</text:p>',
      automaticStyles: `${display('A', 'none')}<style:style style:family="text" style:name="B" style:parent-style-name="A"/>${display('C', 'true', 'A')}`,
      // For headers and footers.
      styles: `<office:automatic-styles>${display('D', 'none')}</office:automatic-styles>`,
    });
    expect(await unprinted('odt', hiddenText, 'Kept Open too')).toEqual({
      HIDDEN_TEXT_LOST: hidden('2 word(s) (SECRETINNER, PRICE)'),
    });
    expect(textOfPart(readableOpenText(hiddenText), 'content.xml').replace(/<[^<>]*>/g, '')).toBe('KeptOpen too');
    const sheet = {
      name: 'Shown',
      before: '<cols><col min="3" max="3" hidden="1"/></cols>',
      rows: `<row r="1">${inline('A1', 'Kept')}${inline('B1', 'Covered')}${inline('C1', 'Column')}</row><row r="2" hidden="1">${inline('A2', 'Row')}</row>`,
      after: '<mergeCells><mergeCell ref="A1:B1"/></mergeCells>',
    };
    const book = xlsx([sheet, { name: 'Away', state: 'hidden', rows: `<row r="1">${inline('A1', 'Unseen')}</row>` }]);
    expect(await unprinted('xlsx', book, 'Kept')).toEqual({
      HIDDEN_CELLS_LOST: hidden('sheet Away, 3 cell(s) of sheet Shown'),
    });
  });

  it('do not count text drawn as outlines, which other results lack', async () => {
    const shape = (path: string, text: string) =>
      `<draw:custom-shape><text:p>${text}</text:p><draw:enhanced-geometry draw:text-path="${path}"/></draw:custom-shape>`;
    const file = odf({ kind: 'text', body: shape('false', 'Shaped') + shape('true', 'Artful') });
    expect(await unprinted('odt', file, 'Shaped')).toEqual({});
    expect((await unprinted('odt', file, ''))['TEXT_LOST']).toContain('(SHAPED)');
    expect(describeUnwritten(requestOf('odt', 'txt'), file, Buffer.from('Shaped'))['TEXT_LOST']).toContain('(ARTFUL)');
  });

  it('do not count charts and pictures, which plain text lacks', async () => {
    const picture = '<w:r><w:drawing><a:blip r:embed="a"/></w:drawing></w:r>';
    const both = `<mc:AlternateContent><mc:Choice>${picture}</mc:Choice><mc:Fallback>${picture}</mc:Fallback></mc:AlternateContent>`;
    const file = docx(para(run('Kept') + picture + both), { header1: para(picture), 'charts/chart1': '' });
    expect(await unprinted('docx', file, 'Kept')).toEqual({});
    expect(describeUnwritten(requestOf('docx', 'txt'), file, Buffer.from('Kept'))).toEqual({
      HEADERS_LOST: 'Headers and footers are not in the result: 1 picture(s).',
      DRAWINGS_LOST: expect.stringMatching(/^1 chart\(s\) or diagram\(s\)/) as string,
      IMAGES_LOST: expect.stringMatching(
        /^2 picture\(s\) of the document are not in the result, because a txt/,
      ) as string,
    });
  });

  it('count an object of an OpenDocument file without a picture', async () => {
    const object = '<office:body><office:spreadsheet><table:table/></office:spreadsheet></office:body>';
    const holding = (more: Record<string, string>) =>
      odf({ kind: 'text', body: '<text:p>Kept</text:p>', more: { 'Object 1/content.xml': object, ...more } });
    expect(await unprinted('odt', holding({ 'ObjectReplacements/Object 1': 'drawn' }), 'Kept')).toEqual({});
    expect(Object.keys(await unprinted('odt', holding({}), 'Kept'))).toEqual(['DRAWINGS_LOST']);
  });

  it('count a chart of an unsupported kind without a fallback picture', async () => {
    const chart = (fallback: string) =>
      `<mc:AlternateContent><mc:Choice><a:graphicData uri="http://schemas.microsoft.com/office/drawing/2014/chartex"/></mc:Choice><mc:Fallback>${fallback}</mc:Fallback></mc:AlternateContent>`;
    const lost = (count: number) => ({
      DRAWINGS_LOST: expect.stringMatching(new RegExp(`^${count} chart\\(s\\) of a kind`)) as string,
    });
    const drawn = run('Kept') + chart('<a:blip r:embed="a"/>');
    expect(await unprinted('docx', docx(para(drawn)), 'Kept')).toEqual({});
    expect(await unprinted('docx', docx(para(drawn + chart('') + chart(''))), 'Kept')).toEqual(lost(2));
    const rows = `<row r="1">${inline('A1', 'Kept')}</row>`;
    const book = xlsx([{ rows }], { more: { 'xl/drawings/drawing1.xml': `<xdr:wsDr>${chart('')}</xdr:wsDr>` } });
    expect(await unprinted('xlsx', book, 'Kept')).toEqual(lost(1));
    const kept = { format: 'xlsx', data: xlsx([{ rows }]) };
    expect(await describeUnkept(requestOf('xlsx', 'xls'), book, kept)).toEqual(lost(1));
  });

  it('do not count a word next to a note mark', async () => {
    const note = '<w:r><w:footnoteReference w:id="1"/></w:r>';
    const parts = { footnotes: `<w:footnote w:id="1">${para('Noted')}</w:footnote>` };
    expect(await unprinted('docx', docx(para(run('Base') + note + run('Next')), parts), 'Base1Next 1Noted')).toEqual(
      {},
    );
  });

  it.each(['Symbol', 'Wingdings', 'Wingdings 2', 'Webdings'])(
    'do not count words in the symbol font %s',
    async (font) => {
      const signs = run('abg', `<w:rFonts w:ascii="${font}" w:hAnsi="${font}"/>`);
      expect(await unprinted('docx', docx(para(signs + run('Lost', '<w:rFonts w:ascii="Arial"/>'))), 'αβγ')).toEqual({
        TEXT_LOST: 'Not on the pages of the PDF: 1 word(s) (LOST) of the document.',
      });
    },
  );

  it('count the text of a diagram without a picture', async () => {
    const diagram = '<dgm:pt><dgm:t><a:p><a:r><a:t>Planned</a:t></a:r></a:p></dgm:t></dgm:pt>';
    expect(await unprinted('docx', docx(para('Kept'), { 'diagrams/data1': diagram }), 'Kept')).toEqual({
      TEXT_LOST: 'Not on the pages of the PDF: 1 word(s) (PLANNED) of the document.',
    });
  });

  it('count a file of another format embedded in the document', async () =>
    expect(await unprinted('docx', docx(`${para('Kept')}<w:altChunk r:id="a"/>`), 'Kept')).toEqual({
      INSERTED_FILES_LOST: expect.stringMatching(/^1 file\(s\)/) as string,
    }));
});

describe('the warnings about another office file as the result', () => {
  const unkept = async (reader: string, file: Buffer, format: string, data: Buffer) =>
    describeUnkept(requestOf(reader, format), file, { format, data });

  it('count words of the document, its headers and its equations', async () => {
    const file = docx(para(run('Kept') + equation('kinetic')), { header1: para('Headed') });
    const lost = await unkept('docx', file, 'odt', odf({ kind: 'text', body: '<text:p>Kept</text:p>' }));
    expect(lost['TEXT_LOST']).toContain(isHere(programs.math) ? '(KINETIC, HEADED)' : '(HEADED)');
    const art = '<w:r><w:pict><v:shape><v:textpath string="Kept"/></v:shape></w:pict></w:r>';
    const written = docx(para(run('Hea') + '<w:r><w:instrText>PAGE</w:instrText></w:r>' + run('ded') + art));
    expect(await unkept('docx', docx(para('Kept'), { header1: para('Headed') }), 'docx', written)).toEqual({});
    const all = odf({ kind: 'text', body: '<text:p>Kept</text:p><text:p>Headed</text:p>', more: mathObject });
    expect((await unkept('docx', file, 'odt', all))['TEXT_LOST']).toBeUndefined();
    const rtf = Buffer.from(String.raw`{\rtf1{\header Hea{\b ded}}K\u101\'65pt {\moMath kinetic}}`);
    expect((await unkept('docx', file, 'rtf', rtf))['TEXT_LOST']).toBeUndefined();
  });

  it('count comments', async () => {
    const note = '<office:annotation><text:p>Asked</text:p></office:annotation>';
    const file = odf({ kind: 'text', body: `<text:p>Kept${note}${note}</text:p>` });
    const comment = `<w:comment w:id="0">${para('Asked')}</w:comment>`;
    expect(await unkept('odt', file, 'docx', docx(para('Kept'), { comments: comment }))).toEqual({
      COMMENTS_LOST: '1 comment(s) of the document are not in the result.',
    });
    expect(await unkept('odt', file, 'docx', docx(para('Kept'), { comments: comment.repeat(2) }))).toEqual({});
  });

  it('count cells that exceed the size of an XLS sheet, including numbers', async () => {
    const number = (at: string) => `<c r="${at}"><v>1</v></c>`;
    const rows = `<row r="1">${number('IV1')}${number('IW1')}${inline('IX1', 'Text')}</row><row r="65536">${number('A65536')}</row><row r="65537">${number('A65537')}</row>`;
    const [all, cut] = [xlsx([{ rows }]), xlsx([{ rows: `<row r="1">${number('IV1')}</row>` }])];
    const lost = { CELLS_LOST: expect.stringMatching(/^3 cell\(s\) beyond row 65,536 or column 256 \(IV\)/) as string };
    const kept = (data: Buffer) => ({ format: 'xlsx', data });
    expect(await describeUnkept(requestOf('xlsx', 'xls'), all, kept(cut))).toEqual(lost);
    expect(await describeUnkept(requestOf('xlsx', 'xlsx'), all, kept(all))).toEqual({});
    // If saving was slow, there is no XLSX copy of the result to look into.
    const slow = { format: 'xls', data: Buffer.from('old') };
    expect(await describeUnkept(requestOf('xlsx', 'xls'), all, slow)).toEqual(lost);
  });

  it('count texts of cells as often as they occur', async () => {
    const book = (...words: string[]) =>
      xlsx([{ rows: words.map((text, y) => `<row r="${y + 1}">${inline(`A${y + 1}`, text)}</row>`).join('') }]);
    const cell = (text: string, kind = 'table-cell') =>
      `<table:${kind} office:value-type="string"><text:p>${text}</text:p></table:${kind}>`;
    const open = (cells: string) =>
      odf({
        kind: 'spreadsheet',
        body: `<table:table table:name="a"><table:table-row>${cells}</table:table-row></table:table>`,
      });
    const lost = { TEXT_LOST: 'Not in the result: 1 word(s) (TWICE) of the document.' };
    expect(await unkept('xlsx', book('Twice', 'Twice'), 'ods', open(cell('Twice')))).toEqual(lost);
    expect(await unkept('xlsx', book('Twice', 'Twice'), 'xlsx', book('Twice'))).toEqual(lost);
    const merged = open(cell('Twice') + cell('Twice', 'covered-table-cell'));
    expect(await unkept('xlsx', book('Twice', 'Twice'), 'ods', merged)).toEqual({});
  });
});

describe('the warnings about slides', () => {
  const unread = (file: Buffer, output: string) =>
    describeUnread(requestOf('pptx', 'md'), file, {
      output: Buffer.from(output),
      readAgain: () => Promise.resolve('{}'),
    });

  it('name the targets of links', async () => {
    const slides = pptx([
      { shapes: ['Kept'], links: ['https://example.com/?a=1&amp;b=2', 'mailto:a@example.com'] },
      { shapes: ['Unseen'], isHidden: true, links: ['https://no.example'] },
    ]);
    const { LINKS_LOST: lost } = await unread(slides, 'Kept');
    expect(lost).toMatch(/^Where 2 link\(s\) .*: https:\/\/example\.com\/\?a=1&b=2, mailto:a@example\.com\./);
  });

  it('count content of layouts and masters, except placeholders and slides that hide it', async () => {
    const placeholder = shape('Click').replace('<p:nvPr/>', '<p:nvPr><p:ph type="title"/></p:nvPr>');
    const master = `${placeholder}${shape('Confidential')}<p:pic></p:pic>`;
    const layout = shape('Branded') + placeholder;
    const lost = (what: string) => ({
      HEADERS_LOST: `What masters, layouts and backgrounds of the slides show is not in the result: ${what}.`,
    });
    const filled = '<p:sp><p:spPr><a:blipFill></a:blipFill></p:spPr></p:sp>';
    const slides = [{ shapes: ['Kept'] }, { shapes: ['Kept'], drawn: filled }];
    expect(await unread(pptx(slides, { layout, master }), 'Kept Kept')).toEqual(
      lost('2 word(s) (BRANDED, CONFIDENTIAL) and 2 picture(s)'),
    );
    const alone = pptx(slides, { layout, master, ofLayout: 'showMasterSp="0"' });
    expect(await unread(alone, 'Kept Kept')).toEqual(lost('1 word(s) (BRANDED) and 1 picture(s)'));
  });
});

it('form fields of an OpenDocument text are read in place', () => {
  const fields = [
    ['text xml:id="a" form:value="Usual" form:current-value="Typed"', ''],
    ['checkbox form:id="b" form:label="Agreed" form:current-state="checked"', ''],
    ['radio form:id="c" form:label="Other"', ''],
    [
      'listbox form:id="d"',
      '<form:option form:label="No"/><form:option form:current-selected="true" form:label="Chosen"/>',
    ],
    ['password form:id="e" form:value="Secret"', ''],
  ].map(([field = '', inside]) => `<form:${field}>${inside}</form:${field.split(' ')[0]}>`);
  const places = ['a', 'b', 'c', 'd', 'e'].map((id) => `<draw:control svg:width="1cm" draw:control="${id}"/>`);
  const file = odf({
    kind: 'text',
    body: `<office:forms><form:form>${fields.join('')}</form:form></office:forms><text:p>${places.join(' ')}</text:p>`,
  });
  const [text] = /<text:p>[^]*/.exec(textOfPart(readableOpenText(file), 'content.xml')) ?? [];
  expect(text?.replace(/<[^<>]*>/g, '').trim()).toBe('Typed \u2612 Agreed \u2610 Other Chosen');
});

it('pandoc reads text inside indexes, content controls and ruby of an OpenDocument text', () => {
  const index =
    '<text:bibliography><text:bibliography-source/><text:index-body>$</text:index-body></text:bibliography>';
  const ruby =
    '<text:ruby><text:ruby-base>Base</text:ruby-base><text:ruby-text text:style-name="R">Above</text:ruby-text></text:ruby>';
  const body = `<text:p>${ruby} <loext:content-control loext:checked="true">Chosen</loext:content-control></text:p>`;
  const file = odf({ kind: 'text', body: index.replace('$', body) });
  const [text] = /<office:text>[^]*<\/office:text>/.exec(textOfPart(readableOpenText(file), 'content.xml')) ?? [];
  expect(text).toBe('<office:text><text:bibliography-source/><text:p>Base(Above) Chosen</text:p></office:text>');
});
