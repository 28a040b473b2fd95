import { openXml, relation, zip } from './archives';

/** Handwritten DOCX files with typical content. */

const namespaces = [
  'w http://schemas.openxmlformats.org/wordprocessingml/2006/main',
  'r http://schemas.openxmlformats.org/officeDocument/2006/relationships',
  'wp http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing',
  'a http://schemas.openxmlformats.org/drawingml/2006/main',
  'mc http://schemas.openxmlformats.org/markup-compatibility/2006',
  'wps http://schemas.microsoft.com/office/word/2010/wordprocessingShape',
  'v urn:schemas-microsoft-com:vml',
  'm http://schemas.openxmlformats.org/officeDocument/2006/math',
  'pic http://schemas.openxmlformats.org/drawingml/2006/picture',
].map((line) => line.replace(/^(\S+) (.*)$/, 'xmlns:$1="$2"'));

/** `parts`: content of headers, notes and so on by part name (`header1`, `footnotes`). `relations`: further relations of the document. */
export function docx(
  body: string,
  parts: Readonly<Record<string, string>> = {},
  { relations = [] }: { relations?: readonly string[] } = {},
): Buffer {
  const names = Object.keys(parts);
  const kindOf = (name: string) => name.replace(/\d+$/, '');
  const xml = (name: string, content: string) => {
    const root = kindOf(name).replace('header', 'hdr').replace('footer', 'ftr');
    return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><w:${root} ${namespaces.join(' ')}>${content}</w:${root}>`;
  };
  const references = names
    .filter((name) => /^(header|footer)/.test(name))
    .map((name) => `<w:${kindOf(name)}Reference w:type="default" r:id="${name}"/>`);
  const section = `<w:sectPr>${references.join('')}<w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1417" w:right="1417" w:bottom="1417" w:left="1417" w:header="708" w:footer="708" w:gutter="0"/></w:sectPr>`;
  const document = {
    type: 'document.main',
    xml: xml('document', `<w:body>${body}${section}</w:body>`),
    relations: [...names.map((name) => relation(name, kindOf(name), `${name}.xml`)), ...relations],
  };
  const others = names.map(
    (name) => [`word/${name}.xml`, { type: kindOf(name), xml: xml(name, parts[name] ?? '') }] as const,
  );
  return zip(openXml('word/document.xml', 'wordprocessingml', new Map([['word/document.xml', document], ...others])));
}

export const run = (text: string, properties = '') =>
  `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`;
export const para = (content: string, properties = '') =>
  `<w:p><w:pPr>${properties}</w:pPr>${content.startsWith('<') ? content : run(content)}</w:p>`;
export const cell = (content: string, properties = '') =>
  `<w:tc><w:tcPr>${properties}</w:tcPr>${content.startsWith('<') ? content : para(content)}</w:tc>`;
export const row = (...cells: string[]) => `<w:tr>${cells.join('')}</w:tr>`;
export const table = (columns: number, ...rows: string[]) =>
  `<w:tbl><w:tblPr/><w:tblGrid>${`<w:gridCol w:w="${Math.floor(9_000 / columns)}"/>`.repeat(columns)}</w:tblGrid>${rows.join('')}</w:tbl>`;
const field = (code: string, result: string) =>
  `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> ${code} </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>${run(result)}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;

/** Like Word, includes a version for new and one for old programs. */
export const textBox = (text: string) =>
  `<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:anchor distT="0" distB="0" distL="0" distR="0" simplePos="0" relativeHeight="2" behindDoc="0" locked="0" layoutInCell="1" allowOverlap="1"><wp:simplePos x="0" y="0"/><wp:positionH relativeFrom="column"><wp:posOffset>0</wp:posOffset></wp:positionH><wp:positionV relativeFrom="paragraph"><wp:posOffset>300000</wp:posOffset></wp:positionV><wp:extent cx="2500000" cy="600000"/><wp:wrapTopAndBottom/><wp:docPr id="1" name="box"/><a:graphic><a:graphicData uri="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><wps:wsp><wps:cNvSpPr txBox="1"/><wps:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="2500000" cy="600000"/></a:xfrm><a:prstGeom prst="rect"/></wps:spPr><wps:txbx><w:txbxContent>${para(text)}</w:txbxContent></wps:txbx><wps:bodyPr/></wps:wsp></a:graphicData></a:graphic></wp:anchor></w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape style="width:200pt;height:50pt"><v:textbox><w:txbxContent>${para(text)}</w:txbxContent></v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>`;

const oldTextBox = (text: string) =>
  `<w:r><w:pict><v:shape style="width:200pt;height:50pt"><v:textbox><w:txbxContent>${para(text)}</w:txbxContent></v:textbox></v:shape></w:pict></w:r>`;

/** A document of at least `pages` pages with every kind of content. */
export function everything({ pages = 1 } = {}): Buffer {
  const sentence = 'Ordinary sentences about quarterly figures, efficiently hyphenated by whoever prints them. ';
  const long = table(
    3,
    row(cell('Number'), cell('Customer'), cell('Amount')),
    ...Array.from({ length: 25 * pages }, (_, index) =>
      row(cell(`N${index}`), cell(`Customer${index}`), cell(`${index * 17}.50`)),
    ),
  );
  const wide = table(
    14,
    ...Array.from({ length: 4 }, (_, y) => row(...Array.from({ length: 14 }, (__, x) => cell(`Wide${y}x${x}`)))),
  );
  const ragged = table(3, row(cell('Short')), row(cell('left'), cell('middle'), cell('BeyondTheFirstRow')));
  const body = [
    para(run('Report', '<w:b/>'), '<w:pStyle w:val="Heading1"/>'),
    para(run('Half ') + run('bo', '<w:b/>') + run('ldfaced word, ') + run('hidden', '<w:vanish/>') + run('shown.')),
    para(
      `<w:del w:id="1" w:author="a"><w:r><w:delText>Deleted</w:delText></w:r></w:del><w:ins w:id="2" w:author="a">${run('Inserted')}</w:ins>`,
    ),
    para(`<w:sdt><w:sdtContent>${run('ContentControl')}</w:sdtContent></w:sdt>`),
    para(field('MERGEFIELD name', 'MergedName') + run(' on ') + field('DATE', '01.01.1999')),
    para(`<w:fldSimple w:instr=" MERGEFIELD other ">${run('ReferredText')}</w:fldSimple>`),
    para(
      run('Noted') +
        '<w:r><w:footnoteReference w:id="1"/></w:r>' +
        run(' twice') +
        '<w:r><w:endnoteReference w:id="1"/></w:r>',
    ),
    para(
      '<w:commentRangeStart w:id="0"/>' +
        run('Commented') +
        '<w:commentRangeEnd w:id="0"/><w:r><w:commentReference w:id="0"/></w:r>',
    ),
    para(run('Before the box. ') + textBox('BoxedWords')),
    para(run('Old box. ') + oldTextBox('AncientBox')),
    para(`<w:dir w:val="rtl">${run('Directed')}</w:dir><w:customXml w:element="a">${run(' Marked')}</w:customXml>`),
    para(`<w:r><w:ruby><w:rt>${run('reading')}</w:rt><w:rubyBase>${run('RubyBase')}</w:rubyBase></w:ruby></w:r>`),
    para('合同 你好世界 こんにちは 안녕하세요'),
    para(run('مرحبا بالعالم 123', '<w:rtl/>'), '<w:bidi/>'),
    para(run('שלום עולם', '<w:rtl/>'), '<w:bidi/>'),
    table(2, row(cell('Outer'), cell(table(2, row(cell('Inner1'), cell('Inner2'))) + para('')))),
    para('Ragged'),
    ragged,
    para('Wide'),
    wide,
    para('Long'),
    long,
    ...Array.from({ length: pages * 4 }, (_, index) => para(`Paragraph${index}. ${sentence.repeat(6)}`)),
  ];
  const separators = (kind: string) =>
    `<w:${kind} w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:${kind}><w:${kind} w:type="continuationSeparator" w:id="0"><w:p><w:r><w:continuationSeparator/></w:r></w:p></w:${kind}>`;
  return docx(body.join(''), {
    header1: para('HeadedConfidential'),
    footer1: para(run('FootedPage ') + field('PAGE', '1')),
    footnotes: `${separators('footnote')}<w:footnote w:id="1">${para('FootnoteText at the foot.')}</w:footnote>`,
    endnotes: `${separators('endnote')}<w:endnote w:id="1">${para('EndnoteText at the end.')}</w:endnote>`,
    comments: `<w:comment w:id="0" w:author="a" w:initials="a">${para('CommentText of a reader.')}</w:comment>`,
  });
}
