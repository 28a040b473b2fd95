import { engineNames, engineNamesOfNpm } from '../../src/engines/engine';
import { serviceOfAllTests, startTestService, type TestClient } from '../support';
import { entriesOf, textOfEntry } from '../../src/engines/archive';
import { cell, docx, everything, para, row, run, table } from './docx';
import { odf } from './odf';
import { pptx } from './pptx';
import { withPrograms } from './with-packages';
import { chartSheet, inline, xlsx } from './xlsx';

/** Whatever the engine, no word of an office file is lost without a warning. */

const openText = odf({
  kind: 'text',
  body: `<text:p>Kept<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Noted</text:p></text:note-body></text:note> <office:annotation><text:p>Asked</text:p></office:annotation><draw:frame svg:width="5cm" svg:height="1cm" text:anchor-type="as-char"><draw:text-box><text:p>Boxed</text:p></draw:text-box></draw:frame> <text:page-number>7</text:page-number></text:p>`,
  styles: `<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="p"><style:header><text:p>Headed</text:p></style:header><style:footer><text:p>Footed <text:page-number>1</text:page-number></text:p></style:footer></style:master-page></office:master-styles>`,
});

/** One slide with notes and one hidden slide. */
const slides = pptx([
  { shapes: ['Titled'], notes: 'Spoken' },
  { shapes: ['Unseen'], isHidden: true },
]);

/** The neighbouring cell covers a long text. */
const clipped = xlsx([
  {
    rows: `<row r="1">${inline('A1', 'Coveredbyothers '.repeat(20))}${inline('B1', 'Next')}<c r="C1"><v>42</v></c></row>`,
    after: '<headerFooter><oddHeader>&amp;C&amp;"Arial,Bold"Confidential &amp;P</oddHeader></headerFooter>',
  },
]);

/** One word for each place of text in `everything`. */
const shown =
  'Report boldfaced Inserted ContentControl MergedName ReferredText Noted FootnoteText EndnoteText Commented BoxedWords AncientBox Directed Marked RubyBase Outer Inner1 Inner2 Short BeyondTheFirstRow Wide0x0 Wide3x13 Customer0 Customer24 Paragraph0 Paragraph3 שלום'.split(
    ' ',
  );

async function textIn(client: TestClient, bytes: Buffer, format: string): Promise<string> {
  const text = format === 'pdf' ? (await client.convertToBytes({ name: 'a.pdf', data: bytes }, 'txt')).bytes : bytes;
  const entries = entriesOf(text).filter(({ name }) => name.endsWith('ml'));
  const all = entries.length > 0 ? entries.map((entry) => textOfEntry(text, entry)).join('') : text.toString('utf8');
  // Joins words that line breaks, tags or bold markup have split.
  return all.replace(/<[^<>]*>|[\s\u200b*+|=\\-]|\{\\b |\\textbf\{|\}/g, '');
}

describe('with engines from npm only', () => {
  const running = serviceOfAllTests({ conversionConcurrency: 1, engines: engineNamesOfNpm });

  it.each(['txt', 'html', 'md', 'rst', 'tex', 'odt', 'epub', 'pdf'])(
    'keeps all parts of a Word document in %s, or warns',
    async (format) => {
      const { bytes, warning } = await running.client.convertToBytes({ name: 'a.docx', data: everything() }, format);
      const text = await textIn(running.client, bytes, format);
      expect(shown.filter((word) => !text.includes(word))).toEqual([]);
      expect(warning['HEADERS_LOST']).toMatch(/2 word\(s\) \(HEADEDCONFIDENTIAL, FOOTEDPAGE\)/);
      expect(warning['COMMENTS_LOST']).toMatch(/^1 comment/);
      expect(warning).not.toHaveProperty('TEXT_LOST');
      expect(Object.keys(warning).includes('LAYOUT_NOT_KEPT')).toBe(format === 'pdf');
    },
  );

  it('counts the words of a Word document that pandoc skips', async () => {
    const lost = para(
      `<w:r><w:pict><v:group><v:shape><v:textbox><w:txbxContent>${para('Grouped box')}</w:txbxContent></v:textbox></v:shape></v:group></w:pict></w:r>`,
    );
    const { warning } = await running.client.convertToBytes(
      { name: 'a.docx', data: docx(para('Kept') + lost) },
      'html',
    );
    const unread = 'Not in the result: 2 word(s) (GROUPED, BOX) of the document.';
    expect(warning).toEqual({ TEXT_LOST: unread });
    // Other words are lost by the writer.
    const table = (inside: string) => `<w:tbl><w:tr><w:tc>${inside}</w:tc></w:tr></w:tbl>`;
    const data = docx(para('Kept') + lost + table(para('Outer') + table(para('Inner')) + para('')));
    expect((await running.client.convertToBytes({ name: 'a.docx', data }, 'pptx')).warning).toEqual({
      TEXT_LOST: `${unread} Not in the result: 1 word(s) (INNER) of the document.`,
    });
  });

  async function read(format: string, data: Buffer) {
    const { bytes, warning } = await running.client.convertToBytes({ name: `a.${format}`, data }, 'txt');
    return { text: bytes.toString('utf8').split(/\s+/).join(' ').trim(), warnings: warning };
  }

  it.each(['bib', 'bib-bibtex', 'json-csl'])('names the text that a bibliography (%s) cannot hold', async (format) => {
    const text = await running.client.convertToBytes({ name: 'a.html', data: '<p>Text</p>' }, format);
    expect(text.warning['TEXT_LOST']).toBe('Not in the result: 1 word(s) (TEXT) of the document.');
    const books = { name: 'a.bib', data: '@book{a, title={Titled}, author={First, Ann}}' };
    expect((await running.client.convertToBytes(books, format)).warning).toEqual({});
  });

  it('keeps the visible text of fields of an OpenDocument text, but not of hidden fields', async () => {
    const field = (name: string, text: string, attributes = '') => `<text:${name}${attributes}>${text}</text:${name}>`;
    const body = [
      field('user-field-get', 'Customer', ' text:name="a"'),
      field('variable-set', 'Price', ' text:name="b"'),
      field('variable-set', 'Unseen', ' text:name="c" text:display="none"'),
      field('sequence', '17'),
      field('date', '5 May', ' text:fixed="true"'),
      field('sender-lastname', 'Smith'),
      field('conditional-text', 'True'),
      field('hidden-text', 'Unless'),
      '<text:placeholder/>',
    ];
    expect(await read('odt', odf({ kind: 'text', body: `<text:p>${body.join(' ')}</text:p>` }))).toEqual({
      text: 'Customer Price 17 5 May Smith True Unless',
      warnings: {},
    });
  });

  it('keeps the values of legacy Word forms', async () => {
    const field = (data: string, code: string) =>
      `<w:r><w:rPr><w:b/></w:rPr><w:fldChar w:fldCharType="begin"><w:ffData><w:name w:val="f"/>${data}</w:ffData></w:fldChar></w:r><w:r><w:instrText>${code}</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>`;
    const box = (data: string) => field(`<w:checkBox><w:sizeAuto/>${data}</w:checkBox>`, 'FORMCHECKBOX');
    const list = (data: string) =>
      field(`<w:ddList>${data}<w:listEntry w:val="Austria"/><w:listEntry w:val="Belgium"/></w:ddList>`, 'FORMDROPDOWN');
    const boxes = [
      '<w:default w:val="0"/><w:checked/>',
      '<w:default w:val="1"/>',
      '<w:default w:val="1"/><w:checked w:val="0"/>',
      '',
    ];
    const data = docx(para(boxes.map(box).join('') + list('') + run(' ') + list('<w:result w:val="1"/>')));
    expect(await read('docx', data)).toEqual({ text: '☒☒☐☐Austria Belgium', warnings: {} });
  });

  it('leaves out hidden text of a Word document, with a warning', async () => {
    const hidden = run('Secret price', '<w:b/><w:vanish/>') + run('shown', '<w:vanish w:val="0"/>');
    expect(await read('docx', docx(para(run('Kept ') + hidden)))).toEqual({
      text: 'Kept shown',
      warnings: {
        HIDDEN_TEXT_LOST: 'Left out, because it is hidden: 2 word(s) (SECRET, PRICE). Show it to have it converted.',
      },
    });
  });

  it('leaves tracked deletions of an RTF document out of every result', async () => {
    const rtf = String.raw`{\rtf1\ansi{\fonttbl{\f0 Times;}}Kept {\deleted\revauthdel1 OLD100}{\revised NEW200} \deleted OLD300\deleted0 end\par}`;
    for (const format of ['md', 'txt', 'html']) {
      const text = (await running.client.convertToBytes({ name: 'a.rtf', data: rtf }, format)).bytes.toString('utf8');
      expect([format, text.includes('Kept NEW200 end'), text.includes('OLD')]).toEqual([format, true, false]);
    }
  });

  it('counts numbers that only Word generates', async () => {
    const numbering =
      '<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="Article %1."/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>';
    const article = para('Kept', '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>');
    expect((await read('docx', docx(article.repeat(2), { numbering }))).warnings).toEqual({
      NUMBERS_LOST: expect.stringMatching(/^2 number\(s\) .*: Article 1\.\. An office program/) as string,
    });
  });

  it('counts what pandoc skips in other office files', async () => {
    const convert = async (name: string, data: string | Buffer) =>
      (await running.client.convertToBytes({ name, data }, 'html')).warning;
    expect(await convert('a.odt', openText)).toEqual({
      COMMENTS_LOST: '1 comment(s) of the document are not in the result.',
      HEADERS_LOST: 'Headers and footers are not in the result: 2 word(s) (HEADED, FOOTED).',
      TEXT_LOST: 'Not in the result: 1 word(s) (BOXED) of the document.',
    });
    expect(await convert('a.pptx', slides)).toEqual({
      HIDDEN_TEXT_LOST: 'Left out, because it is hidden: 1 slide(s). Show it to have it converted.',
      NOTES_LOST: "The speaker's notes of 1 slide(s) are not in the result.",
    });
    const rtf = String.raw`{\rtf1{\header Headed \{a\}\par}{\*\annotation{\*\atnref 1} Noted}Kept{\footer {\b Foo}ted}\par}`;
    expect(await convert('a.rtf', rtf)).toEqual({
      COMMENTS_LOST: '1 comment(s) of the document are not in the result.',
      HEADERS_LOST: 'Headers and footers are not in the result: 3 word(s) (HEADED, A, FOOTED).',
    });
    expect(await convert('a.xlsx', clipped)).toMatchObject({
      HEADERS_LOST: 'Headers and footers of pages are not in the result: 1 word(s) (CONFIDENTIAL).',
    });
  });

  it('handles old drawing objects, equations and cells around a nested table in RTF', async () => {
    const box = String.raw`{\*\do\dptxbx{\dptxbxtext Boxed\par}}`;
    const cells = String.raw`\trowd\cellx9\intbl Outer\par\itap2 Inner\nestcell{\*\nesttableprops\trowd\cellx5\nestrow}\intbl\cell\row`;
    const rtf = String.raw`{\rtf1{\info{\title Kept}}${box}{\mmath{\*\moMath{\mr kinetic}}}${cells}\pard{\listtext 1.}Kept{\footnote \chftn Noted} \u8217?s\endash Dashed\par}`;
    const { warning } = await running.client.convertToBytes({ name: 'a.rtf', data: rtf }, 'txt');
    expect(warning).toEqual({ TEXT_LOST: 'Not in the result: 3 word(s) (BOXED, KINETIC, OUTER) of the document.' });
  });

  it.each([
    ['wiki-dokuwiki', 'a.wiki', '^ H ^\n| a | LOST |\n| {{pic.png?20|alt}} | [[page|text]] |\n', 2],
    ['org', 'a.org', '| h |\n|---|\n| a | LOST |\n', 1],
    ['wiki', 'a.wiki', '{|\n! H\n|-\n| a || KEPT [[File:x.png|thumb|alt]]\n|}\n', 0],
    ['md', 'a.md', '| H |\n|---|\n| a | KEPT |\n', 0],
    ['textile', 'a.textile', '|a|\n|b|KEPT|\n', 0],
  ])('keeps cells beyond the width of the first row, or counts their words: %s', async (input, name, data, lost) => {
    const { bytes, warning } = await running.client.convertToBytes({ name, data }, 'html', { input });
    expect(warning['TEXT_LOST'] ?? '0 word(s)').toContain(`${lost} word(s)`);
    if (lost === 0) expect(bytes.toString('utf8')).toContain('KEPT');
  });

  it.each([
    ['no grid', (xml: string) => xml.replace(/<w:tblGrid>.*?<\/w:tblGrid>/, '')],
    ['an empty grid', (xml: string) => xml.replace(/<w:tblGrid>.*?<\/w:tblGrid>/, '<w:tblGrid/>')],
    ['a grid without widths', (xml: string) => xml.replace(/<w:gridCol [^>]*>/g, '<w:gridCol/>')],
    ['a grid that is too short', (xml: string) => xml.replace(/<w:gridCol [^>]*>/, '')],
  ])('keeps all cells of a Word table with %s', async (_title, spoil) => {
    const merged = table(
      3,
      row(cell('A1'), cell('B1C1', '<w:gridSpan w:val="2"/>')),
      row(cell('A2'), cell('B2'), cell('C2')),
    );
    const ragged = table(
      3,
      row(cell('H1')),
      row(cell('a1'), cell('b1'), cell(table(1, row(cell('n1')), row(cell('n2'), cell('n3'))) + para(''))),
    );
    const data = docx(spoil(merged) + para('') + spoil(ragged));
    const { bytes, warning } = await running.client.convertToBytes({ name: 'a.docx', data }, 'html');
    const cells = bytes.toString('utf8').match(/\b([A-C][12]C?1?|[abn][1-3]|H1)\b(?=<)/g);
    expect(cells).toEqual(['A1', 'B1C1', 'A2', 'B2', 'C2', 'H1', 'a1', 'b1', 'n1', 'n2', 'n3']);
    expect(warning).toEqual({});
  });
});

withPrograms(['writer'], () => {
  it('prints all parts of a Word document, or warns', async () => {
    const { client, stop } = await startTestService({ conversionConcurrency: 1, engines: engineNames });
    const { bytes, warning } = await client.convertToBytes({ name: 'a.docx', data: everything({ pages: 20 }) }, 'pdf');
    const text = await textIn(client, bytes, 'pdf');
    expect(
      [...shown, 'HeadedConfidential', 'Customer499', 'Paragraph79'].filter((word) => !text.includes(word)),
    ).toEqual([]);
    expect(warning).not.toHaveProperty('TEXT_LOST');
    expect(warning['COMMENTS_LOST']).toMatch(/^1 comment/);
    // LibreOffice prints an error text for a dangling reference.
    const broken = docx(para(`<w:fldSimple w:instr=" REF gone ">${run('ReferredText')}</w:fldSimple>`));
    const lost = await client.convertToBytes({ name: 'a.docx', data: broken }, 'pdf');
    expect(lost.warning['TEXT_LOST']).toBe('Not on the pages of the PDF: 1 word(s) (REFERREDTEXT) of the document.');
    await stop();
  });
});

withPrograms(['writer', 'math'], () => {
  const running = serviceOfAllTests({ conversionConcurrency: 1, engines: engineNames });
  const printedText = async (name: string, data: Buffer) => {
    const { bytes, warning } = await running.client.convertToBytes({ name, data }, 'pdf');
    return [(await running.client.convertToBytes({ name: 'a.pdf', data: bytes }, 'txt')).bytes.toString(), warning];
  };

  it('prints equations, and keeps them in other documents', async () => {
    const data = docx(para(`${run('Kept ')}<m:oMath><m:r><m:t>kinetic</m:t></m:r></m:oMath>`));
    expect(await printedText('a.docx', data)).toEqual([expect.stringContaining('kinetic'), {}]);
    const { bytes, warning } = await running.client.convertToBytes({ name: 'a.docx', data }, 'odt');
    expect([await textIn(running.client, bytes, 'odt'), warning]).toEqual([expect.stringContaining('kinetic'), {}]);
    expect(await printedText('a.odt', bytes)).toEqual([expect.stringContaining('kinetic'), {}]);
  });

  it("prints the user's file name in file name fields", async () => {
    const name = 'Vertrag #4 (50% é)';
    const word = docx(para(`<w:fldSimple w:instr=" FILENAME ">${run(`${name}.docx`)}</w:fldSimple>`));
    const open = odf({ kind: 'text', body: '<text:p><text:file-name text:display="name-and-extension"/></text:p>' });
    expect(await printedText(`${name}.docx`, word)).toEqual([`${name}.docx\n`, {}]);
    expect(await printedText(`${name}.odt`, open)).toEqual([`${name}.odt\n`, {}]);
    const { bytes } = await running.client.convertToBytes({ name: `${name}.docx`, data: word }, 'doc');
    expect(await printedText(`${name}.doc`, bytes)).toEqual([`${name}.doc\n`, expect.anything()]);
  });

  it('prints documents with all tracked changes accepted', async () => {
    const changed = docx(
      para(
        `${run('Kept ')}<w:del w:id="1" w:author="a"><w:r><w:delText>OLD-100</w:delText></w:r></w:del><w:ins w:id="2" w:author="a">${run('NEW-200')}</w:ins>`,
      ),
    );
    for (const format of ['docx', 'odt', 'rtf', 'doc']) {
      const { bytes: data } =
        format === 'docx'
          ? { bytes: changed }
          : await running.client.convertToBytes({ name: 'a.docx', data: changed }, format);
      expect([format, ...(await printedText(`a.${format}`, data))]).toEqual([format, 'Kept NEW-200\n', {}]);
    }
  });
});

withPrograms(['calc'], () => {
  it('prints a chart sheet although it has no size', async () => {
    const { client, stop } = await startTestService({ conversionConcurrency: 1, engines: engineNames });
    const { bytes } = await client.convertToBytes({ name: 'a.xlsx', data: chartSheet('Turnover') }, 'pdf');
    expect(await textIn(client, bytes, 'pdf')).toContain('Turnover');
    await stop();
  });
});

withPrograms(['writer', 'calc', 'impress'], () => {
  it('counts what is lost from one office format to another', async () => {
    const { client, stop } = await startTestService({ conversionConcurrency: 1, engines: engineNames });
    const convert = async (name: string, data: Buffer, output: string) => client.convertToBytes({ name, data }, output);
    for (const format of ['odt', 'rtf', 'doc']) {
      const { bytes, warning } = await convert('a.docx', everything(), format);
      // LibreOffice does not write VML drawings to RTF.
      const lost = format === 'rtf' && { TEXT_LOST: 'Not in the result: 1 word(s) (ANCIENTBOX) of the document.' };
      expect([format, warning]).toEqual([format, { ...lost }]);
      expect((await convert(`a.${format}`, bytes, 'docx')).warning).toEqual({});
    }
    for (const format of ['odp', 'ppt']) expect((await convert('a.pptx', slides, format)).warning).toEqual({});
    for (const format of ['ods', 'xls']) expect((await convert('a.xlsx', clipped, format)).warning).toEqual({});
    const table =
      '<table:table><table:table-column/><table:table-row><table:table-cell><text:p>Kept</text:p>SUB</table:table-cell></table:table-row></table:table>';
    const inner = table
      .replace('<table:table>', '<table:table table:is-sub-table="true">')
      .replace('Kept', 'Nested')
      .replace('SUB', '');
    expect((await convert('a.odt', odf({ kind: 'text', body: table.replace('SUB', inner) }), 'docx')).warning).toEqual({
      TEXT_LOST: 'Not in the result: 1 word(s) (NESTED) of the document.',
    });
    await stop();
  });

  it('counts what is not printed of other office files', async () => {
    const { client, stop } = await startTestService({ conversionConcurrency: 1, engines: engineNames });
    const convert = async (name: string, data: Buffer) => (await client.convertToBytes({ name, data }, 'pdf')).warning;
    expect(await convert('a.odt', openText)).toEqual({
      COMMENTS_LOST: '1 comment(s) of the document are not in the result.',
    });
    expect(await convert('a.pptx', slides)).toEqual({
      HIDDEN_TEXT_LOST: 'Left out, because it is hidden: 1 slide(s). Show it to have it converted.',
      NOTES_LOST: "The speaker's notes of 1 slide(s) are not in the result.",
    });
    const old = async (name: string, data: Buffer, output: string) =>
      (await client.convertToBytes({ name, data }, output)).bytes;
    expect(await convert('a.ppt', await old('a.pptx', slides, 'ppt'))).toEqual({
      HIDDEN_TEXT_LOST: 'Left out, because it is hidden: 1 slide(s). Show it to have it converted.',
      NOTES_LOST: "The speaker's notes of 1 slide(s) are not in the result.",
    });
    const doc = await old('a.docx', docx(para('Kept'), { header1: para('Headed') }), 'doc');
    expect(await convert('a.doc', doc)).toEqual({});
    expect((await client.convertToBytes({ name: 'a.doc', data: doc }, 'txt')).warning).toEqual({
      HEADERS_LOST: 'Headers and footers are not in the result: 1 word(s) (HEADED).',
    });
    expect(await convert('a.xlsx', clipped)).toEqual({
      TEXT_LOST: expect.stringMatching(
        /^Not on the pages of the PDF: \d+ word\(s\) \(COVEREDBYOTHERS\) of the document\.$/,
      ) as unknown,
    });
    const formula = (code: string) =>
      xlsx([
        {
          rows: `<row r="1"><c r="A1" t="str"><f>${code}</f><v>${'Calculatedtext '.repeat(20)}</v></c>${inline('B1', 'Next')}</row>`,
        },
      ]);
    expect(await convert('a.xlsx', formula('REPT(&quot;Calculatedtext &quot;,20)'))).toEqual({
      TEXT_LOST: expect.stringContaining('(CALCULATEDTEXT)') as unknown,
    });
    expect(await convert('a.xlsx', formula('TEXT(TODAY(),&quot;yyyy&quot;)'))).toEqual({});
    await stop();
  });
});
