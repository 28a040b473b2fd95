/** A PDF of these objects, numbered from 1; object `catalog` is its catalog. */
function pdfOf(objects: readonly string[], catalog: number): Buffer {
  let pdf = '%PDF-1.5\n';
  const places = objects.map((object, index) => {
    const place = pdf.length;
    pdf += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const end = `trailer<</Size ${objects.length + 1}/Root ${catalog} 0 R>>\nstartxref\n${pdf.length}\n%%EOF`;
  return Buffer.from(`${pdf}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join('')}${end}`, 'latin1');
}

/** A one-page form with values; `appearances`: each value has an appearance stream, as some programs write it. */
export function filledForm({ appearances = true, text = 'Name:' } = {}): Buffer {
  const words = (size: number, value: string) => `BT /F1 ${size} Tf 2 6 Td (${value}) Tj ET`;
  const drawn = (size: string, content: string) =>
    `<</Length ${content.length}/Type/XObject/Subtype/Form/BBox[0 0 ${size}]/Resources<</Font<</F1 1 0 R>>>>>>stream\n${content}\nendstream`;
  const look = (number: number) => (appearances ? `/AP<</N ${number} 0 R>>` : '');
  const page = text === '' ? '' : `BT /F1 12 Tf 50 705 Td (${text}) Tj ET`;
  return pdfOf(
    [
      '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>',
      `<</Length ${page.length}>>stream\n${page}\nendstream`,
      `<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(Filled Jones)/DA(/F1 12 Tf 0 g)/Rect[100 700 300 720]/F 4${look(10)}>>`,
      `<</Type/Annot/Subtype/Widget/FT/Btn/T(agree)/V/Yes/AS/Yes/Rect[100 640 120 660]/F 4/AP<</N<</Yes 11 0 R/Off 12 0 R>>>>>>`,
      `<</Type/Annot/Subtype/FreeText/Contents(Typed note)/DA(/F1 12 Tf 0 g)/Rect[100 560 300 580]/F 4>>`,
      `<</Type/Annot/Subtype/Stamp/Rect[100 500 300 540]/F 4/AP<</N 13 0 R>>>>`,
      '<</Type/Page/Parent 8 0 R/MediaBox[0 0 400 800]/Resources<</Font<</F1 1 0 R>>>>/Contents 2 0 R/Annots[3 0 R 4 0 R 5 0 R 6 0 R]>>',
      '<</Type/Pages/Kids[7 0 R]/Count 1>>',
      '<</Type/Catalog/Pages 8 0 R/AcroForm<</Fields[3 0 R 4 0 R]/DR<</Font<</F1 1 0 R>>>>/DA(/F1 12 Tf 0 g)>>>>',
      drawn('200 20', words(12, 'Filled Jones')),
      drawn('20 20', '0 0 0 rg 4 4 12 12 re f'),
      drawn('20 20', ''),
      drawn('200 40', `1 0 0 rg 0 0 200 40 re f 1 1 1 rg ${words(20, 'Stamped')}`),
    ],
    9,
  );
}

/** A page of text, and a page that is only a picture. */
export function textAndScan(text: string, scan: { jpeg: Buffer; width: number; height: number }): Buffer {
  const words = `BT /F1 12 Tf 50 705 Td (${text}) Tj ET`;
  const page = (content: number) =>
    `<</Type/Page/Parent 6 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 1 0 R>>/XObject<</Im 3 0 R>>>>/Contents ${content} 0 R>>`;
  const picture = 'q 600 0 0 800 0 0 cm /Im Do Q';
  return pdfOf(
    [
      '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>',
      `<</Length ${words.length}>>stream\n${words}\nendstream`,
      `<</Type/XObject/Subtype/Image/Width ${scan.width}/Height ${scan.height}/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode/Length ${scan.jpeg.length}>>stream\n${scan.jpeg.toString('latin1')}\nendstream`,
      page(2),
      page(8),
      '<</Type/Pages/Kids[4 0 R 5 0 R]/Count 2>>',
      '<</Type/Catalog/Pages 6 0 R>>',
      `<</Length ${picture.length}>>stream\n${picture}\nendstream`,
    ],
    7,
  );
}

const word = (text: string, y: number) => `BT /F1 12 Tf 50 ${y} Td (${text}) Tj ET`;

/** A page with one visible word, a word below the page and a clipped word. */
export const unseenText = (): Buffer =>
  pageOf(`${word('Seen', 705)} ${word('Below', -30)} q 50 600 200 1 re W n ${word('Clipped', 580)} Q`);

export const printed = (line: string): Buffer => pageOf(word(line, 705));

/** A page of characters without a Unicode mapping, followed by a line of text. */
export function unknownLetters(count: number, line: string): Buffer {
  const content = `BT /F2 12 Tf 50 705 Td <${'0000'.repeat(count)}> Tj /F1 12 Tf (${line}) Tj ET`;
  const objects = [
    '<</Type/Font/Subtype/Type0/BaseFont/Boxes/Encoding/Identity-H/DescendantFonts[7 0 R]/ToUnicode 8 0 R>>',
    '<</Type/Font/Subtype/CIDFontType2/BaseFont/Boxes/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/DW 600>>',
    `<</Length ${letters.length}>>stream\n${letters}\nendstream`,
  ];
  return pageOf(content, { fonts: '/F2 6 0 R', objects });
}

const letters =
  'begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfchar <0001> <0041> endbfchar endcmap';

/** A page with comments and attachments, and with links and empty highlights, which are no comments. */
export function commented(line: string): Buffer {
  const file = '<</Type/Filespec/F(a.txt)/EF<</F 6 0 R>>>>';
  const notes = [
    '/Text/Contents(Sticky)',
    '/Highlight/Contents(On a highlight)/QuadPoints[50 720 90 720 50 700 90 700]',
    '/Highlight/QuadPoints[50 720 90 720 50 700 90 700]',
    '/Popup/Contents(Sticky)',
    '/Link/Contents(Where it leads)',
    `/FileAttachment/Contents(a.txt)/FS ${file}`,
  ].map((note) => `<</Type/Annot/Rect[50 700 90 720]/Subtype${note}>>`);
  return pageOf(word(line, 705), {
    objects: ['<</Type/EmbeddedFile/Length 5>>stream\nWords\nendstream'],
    ofPage: `/Annots[${notes.join('')}]`,
    ofCatalog: `/Names<</EmbeddedFiles<</Names[(a.txt) ${file}]>>>>`,
  });
}

interface More {
  readonly fonts?: string;
  readonly objects?: readonly string[];
  readonly ofPage?: string;
  readonly ofCatalog?: string;
}

function pageOf(content: string, { fonts = '', objects = [], ofPage = '', ofCatalog = '' }: More = {}): Buffer {
  return pdfOf(
    [
      '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>',
      `<</Length ${content.length}>>stream\n${content}\nendstream`,
      `<</Type/Page/Parent 4 0 R/MediaBox[0 0 400 800]/Resources<</Font<</F1 1 0 R${fonts}>>>>/Contents 2 0 R${ofPage}>>`,
      '<</Type/Pages/Kids[3 0 R]/Count 1>>',
      `<</Type/Catalog/Pages 4 0 R${ofCatalog}>>`,
      ...objects,
    ],
    5,
  );
}
