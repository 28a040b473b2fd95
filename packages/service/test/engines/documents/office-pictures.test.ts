import { describeBrokenPictures, describeLostMedia } from '../../../src/engines/documents/office-pictures';
import { textOfPart } from '../../../src/engines/archive';
import { readableSlides } from '../../../src/engines/office/office-texts';
import { tinyPng } from '../../support';
import { openXml, relation, zip, zipEntry } from '../archives';
import { frame, odf } from '../odf';
import { pptx } from '../pptx';

/** Pictures that a document names but lacks, or contains damaged; every reader skips them silently. */

const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/image';
const outside = `<Relationship Id="o" Type="${type}" Target="https://pictures.example/a.png" TargetMode="External"/>`;
const lost = (names: string) => ({
  IMAGES_LOST: expect.stringMatching(new RegExp(`^\\d picture\\(s\\) .*: ${names}\\. Put PNG`)) as string,
});
const linked = (name: string) => ({
  RESOURCE_NOT_FOUND: expect.stringContaining(`only the file itself is uploaded: ${name}. `) as string,
});

/** A Word document with these pictures (`<a:blip>`) and media files. */
function word(blips: string, media: Readonly<Record<string, Buffer>>): Buffer {
  const relations = [
    ...[relation('a', 'image', 'media/a.png'), relation('b', 'image', '/word/media/b.jpg'), outside],
    `<Relationship Id="n" Type="${type}" Target="next.png" TargetMode="External"/>`,
  ];
  const xml = `<w:document xmlns:w="w" xmlns:a="a" xmlns:r="r">${blips}</w:document>`;
  const parts = openXml(
    'word/document.xml',
    'wordprocessingml',
    new Map([['word/document.xml', { type: 'main', xml, relations }]]),
  );
  return zip([...parts, ...Object.entries(media).map(([name, data]) => zipEntry(name, data))]);
}

const both = '<a:blip r:embed="a"/><a:blip cstate="print" r:embed="b"></a:blip>';
const jpeg = Buffer.from('ffd8ffe000104a464946ffd9', 'hex');
const whole = { 'word/media/a.png': tinyPng, 'word/media/b.jpg': jpeg };

it.each([
  ['is whole', both, whole, {}],
  ['has a picture that is linked and held', '<a:blip r:embed="a" r:link="o"/>', whole, {}],
  [
    'has a picture of another kind under the name of a PNG',
    both,
    { ...whole, 'word/media/a.png': Buffer.from('BM6') },
    {},
  ],
  ['lacks a picture', both, { 'word/media/a.png': tinyPng }, lost('word/media/b\\.jpg')],
  ['has half a picture', both, { ...whole, 'word/media/a.png': tinyPng.subarray(0, 40) }, lost('word/media/a\\.png')],
  ['has half a photo', both, { ...whole, 'word/media/b.jpg': jpeg.subarray(0, 10) }, lost('word/media/b\\.jpg')],
  ['has what is no picture', both, { ...whole, 'word/media/a.png': Buffer.from('gone') }, lost('word/media/a\\.png')],
  ['has a picture that is linked', '<a:blip r:link="o"/>', whole, linked('https://pictures.example/a.png')],
  ['has a picture that lies beside it', '<a:blip r:link="n"/>', whole, linked('file:next.png')],
])('a Word document that %s', (_what, blips, media, warnings) => {
  expect(describeBrokenPictures(word(blips, media))).toEqual(warnings);
});

it.each([
  ['Pictures/a.png', { 'Pictures/a.png': tinyPng }, {}],
  ['Pictures/a.png', { 'Pictures/a.png': Buffer.from('gone') }, lost('Pictures/a\\.png')],
  ['Pictures/a.png', {}, lost('Pictures/a\\.png')],
  ['./ObjectReplacements/Object 1', {}, {}],
  ['../beside.png', {}, linked('../beside.png')],
])('an OpenDocument file with the picture %s', (href, more, warnings) => {
  expect(describeBrokenPictures(odf({ kind: 'text', body: frame(href), more }))).toEqual(warnings);
});

it('finds nothing in a file that is no archive', () =>
  expect(describeBrokenPictures(Buffer.from('# A text'))).toEqual({}));

it('counts films and sounds that the result lacks', () => {
  const slides = (...names: string[]) => zip(names.map((name) => zipEntry(name, Buffer.from('ftyp'))));
  const file = slides('ppt/media/a.mp4', 'ppt/media/b.WAV', 'ppt/media/c.png');
  const warning = (count: number) => ({
    MEDIA_LOST: `${count} film(s) or sound(s) of the document are not in the result.`,
  });
  expect(describeLostMedia(file, Buffer.from('%PDF-'))).toEqual(warning(2));
  expect(describeLostMedia(file, slides('Media/a.mp4'))).toEqual(warning(1));
  expect(describeLostMedia(file, slides('Media/a.mp4', 'Media/b.wav'))).toEqual({});
});

it.each([
  ['as old programs read it', ''],
  ['as all programs read it', '<p:oleObj spid="1"><p:embed/></p:oleObj></mc:Choice><mc:Fallback>'],
])('shows an object of another program on a slide, such as a table of Excel, by its picture, %s', (_how, choice) => {
  const picture = '<p:pic><p:blipFill><a:blip r:embed="h0"/></p:blipFill></p:pic>';
  const around = (inside: string) => `<p:graphicFrame><a:graphic>${inside}</a:graphic></p:graphicFrame>`;
  const table = around('<a:tbl/>');
  const object = around(`${choice}<p:oleObj progId="Excel.Sheet.12"><p:embed/>${picture}</p:oleObj>`);
  const slides = readableSlides(pptx([{ shapes: ['Kept'], drawn: `${table}${object}${table}` }]));
  expect(textOfPart(slides, 'ppt/slides/slide1.xml')).toContain(`${table}${picture}${table}`);
});
