import sharp from 'sharp';
import { entriesOf, textOfEntry } from '../../../src/engines/archive';
import { engineNamesOfNpm } from '../../../src/engines/engine';
import { serviceOfAllTests, tinyPng } from '../../support';
import { relation, zip, zipEntry } from '../archives';
import { convertingWith } from '../converted';
import { docx, para, run, textBox } from '../docx';
import { odf } from '../odf';
import { pptx, shape } from '../pptx';

/** What pandoc silently drops from pages, books, LaTeX and documents is kept, or lost with a warning. */

const running = serviceOfAllTests({ conversionConcurrency: 1, engines: engineNamesOfNpm });

const dot = `data:image/png;base64,${tinyPng.toString('base64')}`;

const converted = convertingWith(running.client);

/** Adds a picture to an office file. */
function withPicture(file: Buffer, name: string): Buffer {
  const parts = entriesOf(file).map((entry) => zipEntry(entry.name, textOfEntry(file, entry) ?? ''));
  return zip([...parts, zipEntry(name, tinyPng)]);
}

describe('a page', () => {
  const around = (tag: string) => `<header>Company</header><${tag}><p>Thanks</p></${tag}><footer>Account</footer>`;

  it.each(['txt', 'md', 'pdf'])('keeps text around its main element, as %s', async (output) => {
    const { text, warning } = await converted('a.html', around('main'), output);
    expect(text).toMatch(/Company[^]*Thanks[^]*Account/);
    expect(warning).toEqual({});
  });

  it.each([
    ['txt', true],
    ['html', false],
  ])('loses films with a warning, as %s: %s', async (output, isLost) => {
    const { warning } = await converted(
      'a.html',
      '<p>a</p><video src="a.mp4"></video><AUDIO controls></AUDIO>',
      output,
    );
    expect(warning['MEDIA_LOST']).toBe(
      isLost ? '2 film(s) or sound(s) of the document are not in the result.' : undefined,
    );
  });

  it.each(['txt', 'docx', 'pdf'])('loses hidden text with a warning, as %s', async (output) => {
    const html = '<style>.no{display:none}</style><p>Shown</p><p class="no">Gone <b>away</b></p>';
    const { text, warning } = await converted('a.html', html, output);
    if (output !== 'docx') expect(text).toMatch(/^Shown( 1)?$/);
    expect(warning['HIDDEN_TEXT_LOST']).toMatch(/^Left out, because it is hidden: 2 word\(s\) \(GONE, AWAY\)\./);
  });

  it('embedded in Markdown keeps text around its main element too', async () =>
    expect((await converted('a.md', around('main'))).text).toBe('Company Thanks Account'));
});

describe('a book', () => {
  it('gives one warning each for a film and a damaged picture', async () => {
    const spine = '<spine><itemref idref="a"/></spine></package>';
    const manifest =
      '<manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/><item id="v" href="v.mp4" media-type="video/mp4"/><item id="p" href="p.png" media-type="image/png"/></manifest>';
    const files = {
      mimetype: 'application/epub+zip',
      'META-INF/container.xml':
        '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
      'a.opf': `<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/>${manifest}${spine}`,
      'a.xhtml':
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>Kept</p><video src="v.mp4"></video><img src="p.png"/></body></html>',
      'v.mp4': 'film',
      'p.png': tinyPng.subarray(0, 30),
    };
    const book = zip(Object.entries(files).map(([name, data]) => zipEntry(name, data)));
    const losses = {
      MEDIA_LOST: '1 film(s) or sound(s) of the document are not in the result.',
      IMAGES_LOST: expect.stringMatching(/^1 picture\(s\) of the document [^.]*p\.png\. Put [^.]*\.$/) as string,
    };
    expect((await converted('a.epub', book, 'html')).warning).toEqual(losses);
    expect((await converted('a.epub', book, 'md')).warning).toEqual(losses);
  });

  const item = (id: string, more = '') =>
    `<item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"${more}/>`;
  const page = (body: string) => `<html xmlns="http://www.w3.org/1999/xhtml"><body>${body}</body></html>`;

  it('keeps its title page, non-linear pages, HTML and SVG pages, fallback pages, and notes', async () => {
    const files = {
      mimetype: 'application/epub+zip',
      'META-INF/container.xml':
        '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
      'a.opf': `<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>${item('a')}${item('b').replace('application/xhtml+xml', 'text/html')}${item('s').replace('application/xhtml', 'image/svg')}${item('n', ' properties="nav"')}${item('j', ' fallback="t"').replace('application/xhtml+xml', 'application/json')}${item('t')}</manifest><spine><itemref idref="n" linear="no"/><itemref idref="j"/><itemref idref="a"/><itemref idref="b" linear="no"/><itemref idref="s"/></spine></package>`,
      'a.xhtml': page('<main>Chapter</main><footer>Beside</footer>'),
      'b.xhtml': page(
        '<p>Answers<a epub:type="noteref" href="#m">1</a></p><aside id="m" epub:type="footnote">Called</aside><section epub:type="rearnotes"><aside epub:type="rearnote" id="n">Noted</aside></section>',
      ),
      's.xhtml': '<svg xmlns="http://www.w3.org/2000/svg"><text>Drawn</text></svg>',
      'n.xhtml': page('<nav>Contents</nav>'),
      'j.xhtml': '{}',
      't.xhtml': page('<section epub:type="titlepage"><p>Title</p></section>'),
    };
    expect(await converted('a.epub', zip(Object.entries(files).map(([name, data]) => zipEntry(name, data))))).toEqual({
      text: 'Title Chapter Beside Answers[1] Noted Drawn [1] Called',
      warning: {},
    });
  });
});

it.each([
  [
    'a.fb2',
    '<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="http://www.w3.org/1999/xlink"><body><section><p>Kept<a type="note" l:href="#n">7</a></p>$</section></body><body name="notes"><section id="n"><title><p>7</p></title><p>Note</p></section></body></FictionBook>',
    '<table><tr><td>First</td><td>Second</td></tr></table>',
  ],
  [
    'a.dbk',
    '<article><!-- aside --><title>Kept</title><para>Caf&eacute; <![CDATA[a<b]]></para><informalequation><math><mi>x</mi></math></informalequation>$</article>',
    '<procedure><title>First second</title><step><para>Kept</para></step></procedure>',
  ],
])('names exactly the text of %s that pandoc cannot read', async (name, document, unknown) => {
  const lost = { TEXT_LOST: 'Not in the result: 2 word(s) (FIRST, SECOND) of the document.' };
  for (const output of ['html', 'docx', 'pdf', 'txt']) {
    expect([output, (await converted(name, document.replace('$', unknown), output)).warning]).toEqual([output, lost]);
    expect([output, (await converted(name, document.replace('$', ''), output)).warning]).toEqual([output, {}]);
  }
});

describe('a wiki page', () => {
  const page = 'Born {{Birth date|1900}} {{clear}} in<ref>{{Cite web|title=Town}}</ref>\n\n{{Quote\n|text=Words}}\n';

  it.each(['html', 'docx', 'pdf', 'pptx', 'txt'])('loses its templates with a warning, as %s', async (output) => {
    expect((await converted('a.mediawiki', page, output)).warning).toEqual({
      TEMPLATES_LOST: expect.stringMatching(
        /^3 template\(s\) of a wiki .*: \{\{(Birth date|Cite web|Quote)\}\}(, \{\{.*?\}\}){2}\./,
      ) as string,
    });
  });

  it('keeps its templates in formats that support them', async () => {
    for (const output of ['wiki', 'md-pandoc']) {
      const { text, warning } = await converted('a.mediawiki', page, output);
      expect({ text, warning }).toEqual({
        text: expect.stringContaining('{{Quote |text=Words}}') as string,
        warning: {},
      });
    }
  });
});

describe('captions of tables, code and pictures', () => {
  const page = `<figure><table><tr><td>a</td></tr></table><figcaption>Table</figcaption></figure><figure><pre>b</pre><figcaption>Code</figcaption></figure><figure><img src="${dot}" alt="Dot"><figcaption>Picture</figcaption></figure>`;

  it.each(['txt', 'rst', 'adoc', 'wiki', 'tex', 'wiki-jira', 'html', 'md'])('are kept in %s', async (output) => {
    const { text } = await converted('a.html', page, output);
    expect(['Table', 'Code', 'Picture'].filter((word) => !text.includes(word))).toEqual([]);
  });
});

describe('a Word document', () => {
  const art = (text: string) =>
    `<w:r><w:pict><v:shapetype><v:textpath on="t"/></v:shapetype><v:shape><v:textpath style="font-size:1pt" string="${text}"/></v:shape></w:pict></w:r>`;
  const field = (...codes: string[]) =>
    `<w:r><w:fldChar w:fldCharType="begin"/></w:r>${codes.map((code) => `<w:r><w:instrText xml:space="preserve">${code}</w:instrText></w:r>`).join('')}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;
  const ruby = (reading: string) =>
    `<w:r><w:ruby><w:rubyPr/><w:rt>${reading}</w:rt><w:rubyBase>${run('base')}</w:rubyBase></w:ruby></w:r>`;
  const twice = `<w:r><mc:AlternateContent><mc:Choice Requires="wps"/><mc:Fallback><w:pict><v:shape><v:textpath string="again"/></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>`;

  it('keeps WordArt, button texts and ruby text', async () => {
    const body = [
      para(run('a ') + art('A &amp; B') + run(' c')),
      para(field(' MACROBUTTON NoMacro [Click', ' here] ') + run(' ') + field(' PAGE ')),
      para(ruby(run('reading')) + ruby('')),
      para(twice),
    ];
    expect(await converted('a.docx', docx(body.join('')))).toEqual({
      text: 'a A & B c [Click here] base(reading)base',
      warning: {},
    });
  });

  it('keeps text next to a picture, a shape or a note in the same run', async () => {
    const picture = (id: number) =>
      `<w:drawing><wp:inline><wp:extent cx="9525" cy="9525"/><wp:docPr id="${id}" name="a" descr="picture"/><a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic><pic:blipFill><a:blip r:embed="p"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing>`;
    const text = (word: string) => `<w:t>${word}</w:t>`;
    const box = textBox('boxed').replace(/^<w:r>|<\/w:r>$/g, '');
    const body = [
      `${text('before')}${picture(1)}${picture(2)}${text('between')}<w:footnoteReference w:id="2"/>${text('after')}`,
      `${text('above')}<w:br/>${box}${text('below')}`,
    ];
    const footnotes = `<w:footnote w:id="2">${para('Noted')}</w:footnote>`;
    const relations = [relation('p', 'image', 'media/a.png')];
    const file = docx(body.map((each) => para(`<w:r>${each}</w:r>`)).join(''), { footnotes }, { relations });
    const { text: shown } = await converted('a.docx', withPicture(file, 'word/media/a.png'));
    expect(shown).toBe('before[picture][picture]between[1]after above boxed below [1] Noted');
  });

  it('names watermarks and pictures of its headers', async () => {
    const picture = '<w:r><w:drawing><a:blip r:embed="a"/></w:drawing></w:r>';
    const parts = { header1: para(art('Confidential') + twice), footer1: para(picture) };
    expect((await converted('a.docx', docx(para('Kept'), parts))).warning).toEqual({
      HEADERS_LOST: 'Headers and footers are not in the result: 1 word(s) (CONFIDENTIAL) and 1 picture(s).',
    });
  });
});

it('separates words of Word that only a carriage return or an alignment tab divides', async () => {
  const file = docx(
    '<w:p><w:r><w:t>Before</w:t><w:cr/><w:t>line</w:t><w:ptab w:alignment="right"/><w:t>tab</w:t></w:r></w:p>',
  );
  expect((await converted('a.docx', file)).text).toBe('Before line tab');
});

it('reads RTF with circular style definitions', async () => {
  const styles = String.raw`{\stylesheet{\s0\sbasedon0 Normal;}{\s1\sbasedon2 One;}{\s2\sbasedon1 Two;}}`;
  expect((await converted('a.rtf', String.raw`{\rtf1${styles}\pard\plain\s0 Kept\par\pard\s1 Also\par}`)).text).toBe(
    'Kept Also',
  );
});

it('does not apply the last character style to RTF from LibreOffice', async () => {
  const styles = String.raw`{\stylesheet{\s0\snext0 Normal;}{\*\cs7\snext7\loch\super\b Footnote Anchor;}}`;
  const rtf = String.raw`{\rtf1${styles}\pard\plain \s0 Kept {\b bold}\par}`;
  const { bytes } = await running.client.convertToBytes({ name: 'a.rtf', data: rtf }, 'md');
  expect(bytes.toString()).toBe('Kept **bold**\n');
});

it('numbers RTF lists correctly after other text and after nested lists', async () => {
  const level = (format: number) => String.raw`{\listlevel\levelnfc${format}\levelstartat1{\leveltext\'02\'00.;}}`;
  const list = String.raw`{\*\listtable{\list${level(0)}${level(4)}\listid1}}{\*\listoverridetable{\listoverride\listid1\ls1}}`;
  const item = (number: string, of: string, text: string) =>
    String.raw`{\listtext\pard\plain\f0 ${number}\tab}\pard\plain\ls1\ilvl${of}\fi-360 {\f0 {\*\bkmkstart b}${text}}\par `;
  const items = item('1.', '0', 'one') + item('2.', '0', 'two') + String.raw`\pard\plain Between\par `;
  const more = item('3.', '0', 'three') + item('a.', '1', 'within') + item('4.', '0', 'four') + item('v.', '0', '5');
  const { text, warning } = await converted('a.rtf', String.raw`{\rtf1{\fonttbl{\f0 Arial;}}${list}${items}${more}}`);
  expect(text).toBe('1. one 2. two Between 3. three a. within 4. four 5. 5');
  expect(warning).toEqual({});
});

it.each([
  ['of facts', ':Author: Jo\n:Status: Draft\n', 'Author Jo Status Draft'],
  ['of terms', '1.0\n    First\n0.9\n    Second\n', '1.0 First 0.9 Second'],
])('reStructuredText keeps a list %s below its title, or without a title', async (_which, list, text) => {
  const read = await converted('a.rst', `Title\n=====\n\n${list}\nPart\n----\n\nEnd\n`);
  expect(read).toEqual({ text: `Title ${text} Part End`, warning: {} });
  expect((await converted('a.rst', `${list}\nEnd\n`)).text).toBe(`${text} End`);
});

it.each(['paragraph', 'page'])(
  'keeps captions of pictures of an OpenDocument text, in a box anchored to a %s',
  async (anchor) => {
    const picture = '<draw:frame draw:name="p"><draw:image xlink:href="Pictures/a.png"/></draw:frame>';
    const lines = `<text:p>${picture}Figure <text:sequence>1</text:sequence>: Captioned</text:p><text:p>Source</text:p>`;
    const box = `<draw:frame draw:name="b" text:anchor-type="${anchor}"><draw:text-box>${lines}</draw:text-box></draw:frame>`;
    const body = anchor === 'page' ? `${box}<text:p>After</text:p>` : `<text:p>${box}After</text:p>`;
    const { text, warning } = await converted('a.odt', withPicture(odf({ kind: 'text', body }), 'Pictures/a.png'));
    expect(text).toBe('[]Figure 1: Captioned Source After');
    expect(warning).not.toHaveProperty('TEXT_LOST');
  },
);

it('keeps text and pictures of grouped shapes on a slide', async () => {
  const picture =
    '<p:pic><p:nvPicPr><p:cNvPr id="7" name="a" descr="pictured"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:blipFill><a:blip r:embed="h0"/></p:blipFill><p:spPr/></p:pic>';
  const group = (shapes: string) =>
    `<p:grpSp><p:nvGrpSpPr><p:cNvPr id="9" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr><a:xfrm/></p:grpSpPr>${shapes}</p:grpSp>`;
  const drawn = group(shape('Grouped') + group(shape('Deeper')) + picture) + shape('Behind');
  const { text, warning } = await converted(
    'a.pptx',
    withPicture(pptx([{ shapes: ['Kept'], drawn, links: ['../media/a.png'] }]), 'ppt/media/a.png'),
  );
  expect(text).toBe('Slide 1 Kept Grouped Deeper [pictured] Behind');
  expect(warning).not.toHaveProperty('TEXT_LOST');
});

it('writes an empty line with a warning instead of an empty file if nothing is left', async () => {
  const { bytes, warning } = await running.client.convertToBytes({ name: 'a.html', data: '<p></p>' }, 'txt');
  expect(bytes.toString()).toBe('\n');
  expect(warning['NO_TEXT']).toMatch(/^Nothing in the file can be in a result of this format/);
});

it('keeps RTF notes written by LibreOffice', async () => {
  const note = String.raw`{\super \chftn{\*\footnote\ftnalt \chftn\pard{\loch\tab Noted}}}`;
  expect(await converted('a.rtf', String.raw`{\rtf1 Kept${note}\par}`)).toEqual({
    text: 'Kept[1] [1] Noted',
    warning: {},
  });
});

it('names pictures in headers of OpenDocument and RTF', async () => {
  const warning = { HEADERS_LOST: 'Headers and footers are not in the result: 1 picture(s).' };
  const styles =
    '<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="p"><style:header><text:p><draw:frame draw:name="a"><draw:image/><draw:image/></draw:frame></text:p></style:header></style:master-page></office:master-styles>';
  expect((await converted('a.odt', odf({ kind: 'text', body: '<text:p>Kept</text:p>', styles }))).warning).toEqual(
    warning,
  );
  expect((await converted('a.rtf', String.raw`{\rtf1{\header{\pict\pngblip 00}\par}Kept\par}`)).warning).toEqual(
    warning,
  );
});

describe('SVG pictures', () => {
  const page = '<p>a</p><svg width="20" height="20" xmlns="http://www.w3.org/2000/svg"><text>b</text></svg>';

  it.each([
    [
      'docx',
      { COULD_NOT_CONVERT_IMAGE: expect.stringMatching(/^1 picture\(s\) are in the result as SVG alone/) as string },
    ],
    ['rtf', { IMAGES_LOST: expect.stringMatching(/^1 picture\(s\) .* can hold only PNG and JPEG\./) as string }],
    ['html', {}],
  ])('are reported if some or all programs cannot show them in the result: %s', async (output, warning) => {
    expect((await converted('a.html', page, output)).warning).toEqual(warning);
  });
});

it.each(['pdf', 'fb2'])('converts other pictures in %s to PNG, or names them', async (output) => {
  const picture = (kind: string, data: Buffer) =>
    `<p><img src="data:image/${kind};base64,${data.toString('base64')}"></p>`;
  const tiff = await sharp(tinyPng).tiff().toBuffer();
  const page = picture('tiff', tiff) + picture('x-emf', Buffer.alloc(80)) + picture('webp', Buffer.from('RIFF'));
  expect((await converted('a.html', page, output)).warning).toEqual({
    IMAGES_LOST: expect.stringMatching(/^2 picture\(s\) of the document/) as string,
  });
});

it.each(['html', 'epub', 'ipynb'])(
  'converts pictures that browsers cannot show to PNG in %s, or names them',
  async (output) => {
    const frame = (name: string) =>
      `<text:p><draw:frame svg:width="1cm" svg:height="1cm"><draw:image xlink:href="Pictures/${name}"/></draw:frame></text:p>`;
    const more = { 'Pictures/a.tif': await sharp(tinyPng).tiff().toBuffer(), 'Pictures/b.emf': Buffer.alloc(80) };
    const data = odf({ kind: 'text', body: frame('a.tif') + frame('b.emf'), more });
    const { bytes, warning } = await running.client.convertToBytes({ name: 'a.odt', data }, output);
    expect(warning).toEqual({ IMAGES_LOST: expect.stringMatching(/^1 picture\(s\) .*b\.emf/) as string });
    expect(bytes.toString('latin1')).toMatch(
      output === 'epub' ? /EPUB\/media\/\w+\.png/ : /data:image\/png|"image\/png"/,
    );
  },
);

it.each(['txt', 'md-commonmark', 'wiki', 'rtf', 'html-slidy', 'ipynb', 'html', 'opml', 'xml-jats'])(
  'puts the metadata of a document into the text of %s, if the format has no place for it',
  async (output) => {
    const data =
      '---\ntitle: Titled\nsubtitle: Sub\nauthor: [Written, Two]\ndate: Dated\nabstract: |\n  Abstracted\n---\n\nBody\n';
    const { bytes } = await running.client.convertToBytes({ name: 'a.md', data }, output, { input: 'md-pandoc' });
    const words = ['Titled', 'Sub', 'Two', 'Dated', 'Abstracted', 'Body'];
    expect(words.filter((word) => !bytes.toString('utf8').includes(word))).toEqual([]);
  },
);

it.each(['html', 'html-revealjs', 'rst', 'tex', 'tex-context'])(
  'shows author and date in %s even without a title',
  async (output) => {
    const data = '---\nauthor: Written\ndate: Dated\n---\n\nBody\n';
    const { bytes } = await running.client.convertToBytes({ name: 'a.md', data }, output, { input: 'md-pandoc' });
    const shown = bytes.toString('utf8').replace(/<meta[^>]*>|\\(author|date|setupdocument)\W.*/g, '');
    expect(shown).toMatch(/Written[^]*Dated[^]*Body/);
  },
);

it('keeps tables and notes of several blocks in line-based formats, or names the loss', async () => {
  const table = (text: string) => `<table><tr><td>${text}</td></tr></table>`;
  const page = `<div><p>Text</p>${table('Divided')}</div>${table(`<p>First</p><ul><li>Listed</li></ul>${table('Inner')}`)}`;
  const words = (text: string) =>
    ['Divided', 'First', 'Listed', 'Inner'].filter((word) => text.includes(word)).join(' ');
  const wide = page.replaceAll('<tr>', `<tr>${'<td>a</td>'.repeat(12)}`);
  for (const output of ['txt-bbcode', 'txt-vimdoc', 'txt', 'adoc', 'md-markua']) {
    for (const each of [page, wide]) {
      const { text, warning } = await converted('a.html', each, output);
      expect([words(text), warning]).toEqual(['Divided First Listed Inner', {}]);
    }
  }
  const spanned = wide.replaceAll('<td>a</td><td>a</td>', '<td colspan="2">a</td>');
  expect((await converted('a.html', spanned, 'txt-vimdoc')).warning).toEqual({
    TEXT_LOST: expect.stringMatching(/^Not in the result: \d+ word/) as string,
  });
  expect((await converted('a.html', page, 'pptx')).warning).toEqual({
    TEXT_LOST: 'Not in the result: 1 word(s) (INNER) of the document.',
  });
  const note = 'Text[^1]\n\n[^1]: Noted\n\n    - Listed\n\n| A |\n|---|\n| b |\n\n: Captioned\n';
  for (const output of ['adoc', 'djot']) {
    const { bytes } = await running.client.convertToBytes({ name: 'a.md', data: note }, output, { input: 'md-pandoc' });
    expect(['Noted', 'Listed', 'Captioned'].filter((word) => !bytes.toString('utf8').includes(word))).toEqual([]);
  }
});

it('keeps the text before the first heading in an outline (opml)', async () => {
  const { bytes, warning } = await running.client.convertToBytes(
    { name: 'a.html', data: '<p>First</p><h1>Head</h1>' },
    'opml',
  );
  expect(['First', 'Head'].filter((word) => !bytes.toString('utf8').includes(word))).toEqual([]);
  expect(warning).toEqual({});
});

it('keeps a link that is a simple field in Word', async () => {
  const link = `<w:fldSimple w:instr=" HYPERLINK &quot;https://example.org/a&quot; ">${run('There')}</w:fldSimple>`;
  expect((await converted('a.docx', docx(para(link)), 'md')).text).toBe('[There](https://example.org/a)');
});
