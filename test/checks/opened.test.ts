import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { problemOfOpened } from '../../src/checks/opened';
import { pdfOf, zipOf } from '../support/made-results';

let folder = '';
beforeAll(async () => (folder = await mkdtemp(path.join(tmpdir(), 'fileconv-test-'))));

let files = 0;
async function problemOf(output: string, bytes: Buffer): Promise<string | undefined> {
  const file = path.join(folder, String((files += 1)));
  await writeFile(file, bytes);
  return problemOfOpened(file, output);
}

function damaged(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let index = 0; index < 8; index += 1) copy[at + index] = (copy[at + index] ?? 0) ^ 0x5a;
  return copy;
}

const sample = (name: string) => readFile(path.resolve(__dirname, '../protection/samples', name));

describe('a PDF', () => {
  it.each([
    ['a page with text', pdfOf(['Hello']), undefined],
    ['a blank page, and one with a dot', pdfOf(['', '.']), undefined],
    ['no pages', pdfOf([]), 'has no pages'],
    ['a blank page', pdfOf(['']), 'is one blank page'],
    ['blank pages alone', pdfOf(['', '', '']), 'has 3 pages, all blank'],
    [
      'a page of less than a point',
      Buffer.from(pdfOf(['.']).toString().replace('0 0 595 842', '0 0 .75 .7 ')),
      undefined,
    ],
    ['no end', pdfOf(['Hello']).subarray(0, 300), 'is not whole: the end of the pdf file is missing'],
    ['nothing but a beginning and an end', Buffer.from('%PDF-1.4\n%%EOF\n'), expect.stringMatching(/^does not open: /)],
  ])('with %s', async (_what, bytes, told) => expect(await problemOf('pdf', bytes)).toEqual(told));

  it('that is password-protected', async () =>
    expect(await problemOf('pdf', await sample('locked-r6.pdf'))).toBe('opens only with a password'));
});

describe.each([
  ['avif', /^is not whole: /],
  ['gif', /^is not whole: /],
  ['jpeg', /^can't be decoded: /],
  ['png', /^is not whole: /],
  ['tiff', /^can't be decoded: /],
  ['webp', /^can't be decoded: /],
] as const)('an image in %s', (format, ofPart) => {
  it('is decoded completely', async () => {
    const noise = Buffer.from(Array.from({ length: 64 * 64 * 3 }, (_, index) => (index * 7_919) % 251));
    const bytes = await sharp(noise, { raw: { width: 64, height: 64, channels: 3 } })
      .toFormat(format)
      .toBuffer();
    expect(await problemOf(format, bytes)).toBeUndefined();
    expect(await problemOf(format, Buffer.concat([bytes, Buffer.alloc(2_000, 1)]))).toBeUndefined();
    expect(await problemOf(format, bytes.subarray(0, Math.floor(bytes.length * 0.7)))).toMatch(ofPart);
  });
});

/** A grey TIFF with pages of these sizes. */
function tiffOf(...sizes: number[]): Buffer {
  let file = Buffer.from('II*\0\x08\0\0\0', 'latin1');
  for (const [index, size] of sizes.entries()) {
    const pixels = file.length + 2 + 12 * 8 + 4;
    const next = index + 1 < sizes.length ? pixels + size * size : 0;
    const tags = [
      [256, size],
      [257, size],
      [258, 8],
      [259, 1],
      [262, 1],
      [273, pixels],
      [278, size],
      [279, size * size],
    ];
    const directory = Buffer.alloc(2 + 12 * tags.length + 4);
    directory.writeUInt16LE(tags.length, 0);
    for (const [at, [tag = 0, value = 0]] of tags.entries()) {
      directory.writeUInt16LE(tag, 2 + 12 * at);
      directory.writeUInt16LE(4, 4 + 12 * at);
      directory.writeUInt32LE(1, 6 + 12 * at);
      directory.writeUInt32LE(value, 10 + 12 * at);
    }
    directory.writeUInt32LE(next, directory.length - 4);
    file = Buffer.concat([file, directory, Buffer.alloc(size * size, 100)]);
  }
  return file;
}

it('a TIFF may have pages of several sizes, and each is decoded', async () => {
  const whole = tiffOf(40, 60, 50);
  expect(await problemOf('tiff', whole)).toBeUndefined();
  expect(await problemOf('tiff', whole.subarray(0, whole.length - 500))).toMatch(/^can't be decoded: /);
});

it('a TIFF whose pixels are of a kind that is not decoded here is accepted', async () => {
  const grey = tiffOf(40);
  // 12 bits a pixel.
  grey.writeUInt32LE(12, 8 + 2 + 2 * 12 + 8);
  expect(await problemOf('tiff', grey)).toBeUndefined();
});

/** A block of a PNG, or a box of MPEG-4. */
function block(name: string, content: Buffer, isPng = false): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length + (isPng ? 0 : 8));
  const named = Buffer.concat([Buffer.from(name), content]);
  const check = Buffer.alloc(isPng ? 4 : 0);
  if (isPng) check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

describe('what moves', () => {
  const frame = (shade: number) => ({
    create: { width: 40, height: 40, channels: 3 as const, background: { r: shade, g: shade, b: 9 } },
  });
  const frames = [10, 90, 200].map((shade) => sharp(frame(shade)).png().toBuffer());
  const joined = async () => sharp(await Promise.all(frames), { join: { animated: true } });
  const [type, data] = [block('ftyp', Buffer.from('avis')), block('mdat', Buffer.alloc(300, 7))];
  const [meta, moov] = [block('meta', Buffer.alloc(40)), block('moov', Buffer.alloc(40))];
  const end = 12;

  it.each<[format: string, what: string, whole: () => Promise<Buffer>]>([
    ['gif', 'three pictures', async () => (await joined()).gif().toBuffer()],
    ['webp', 'three pictures', async () => (await joined()).webp().toBuffer()],
    [
      'png',
      'a picture and a frame after it',
      async () => {
        const first = await sharp(frame(10)).png().toBuffer();
        const second = block('fdAT', Buffer.alloc(300, 5), true);
        return Buffer.concat([first.subarray(0, -end), second, first.subarray(-end)]);
      },
    ],
    ['avif', 'its description first', () => Promise.resolve(Buffer.concat([type, meta, data]))],
    ['mp4', 'its description last', () => Promise.resolve(Buffer.concat([type, data, moov]))],
  ])('%s with %s lacks its end', async (format, _what, made) => {
    const whole = await made();
    expect(await problemOf(format, whole)).toBeUndefined();
    expect(await problemOf(format, Buffer.concat([whole, Buffer.alloc(2_000, 1)]))).toBeUndefined();
    for (const lacks of [2, 100]) {
      expect(await problemOf(format, whole.subarray(0, -lacks))).toMatch(
        format === 'webp' ? /^can't be decoded: / : /^is not whole: /,
      );
    }
  });

  it('GIF lacks the mark of its end alone', async () =>
    expect(await problemOf('gif', (await (await joined()).gif().toBuffer()).subarray(0, -1))).toBeUndefined());

  it('lacks its description', async () =>
    expect(await problemOf('mp4', Buffer.concat([type, data]))).toBe(
      'is not whole: the end of the mp4 file is missing',
    ));
});

it('an image that is too large for the memory limit is not decoded', async () => {
  const large = await sharp({ create: { width: 12_000, height: 12_000, channels: 3, background: 'red' } })
    .png({ compressionLevel: 1 })
    .toBuffer();
  expect(await problemOf('png', damaged(large, large.length - 5_000))).toBeUndefined();
});

describe('a package', () => {
  const word = { '[Content_Types].xml': '<Types/>', 'word/document.xml': '<w:document/>'.repeat(100) };

  it.each([
    ['docx', 'all that it needs', zipOf(word), undefined],
    ['docx', 'parts that are stored as they are', zipOf(word, { isStored: true }), undefined],
    ['docx', 'nothing', zipOf({}), 'does not open: its zip directory is missing or damaged'],
    ['docx', 'half of it', zipOf(word).subarray(0, 120), 'does not open: its zip directory is missing or damaged'],
    ['docx', 'a part that is damaged', damaged(zipOf(word), 100), /^does not open: its part .* is damaged$/],
    ['docx', 'a stored part that is damaged', damaged(zipOf(word, { isStored: true }), 150), /is damaged$/],
    ['docx', 'no document', zipOf({ '[Content_Types].xml': 'a' }), 'does not open: it has no document'],
    [
      'docx',
      'an empty document',
      zipOf({ '[Content_Types].xml': 'a', 'word/document.xml': '', 'word/_rels/document.xml.rels': 'b' }),
      'does not open: it has no document',
    ],
    ['docx', 'nothing but empty parts', zipOf({ a: '', 'word/': '' }), 'does not open: it has no [content_types].xml'],
    ['docx', 'several results', zipOf({ '1.docx': 'a', '2.docx': 'b' }), undefined],
    ['docx', 'a result, and an empty file beside it', zipOf({ '1.docx': 'a', note: '' }), undefined],
    [
      'png',
      'several results, one damaged',
      damaged(zipOf({ '1.png': 'a'.repeat(20) }, { isStored: true }), 40),
      /is damaged$/,
    ],
    ['xlsx', 'names as Windows writes them', zipOf({ '[Content_Types].xml': 'a', 'xl\\workbook.xml': 'b' }), undefined],
    ['xlsx', 'no folders', zipOf({ '[Content_Types].xml': 'a', 'workbook.xml': 'b' }), undefined],
    ['xlsx', 'names from the root', zipOf({ '/[Content_Types].xml': 'a', '/xl/workbook.xml': 'b' }), undefined],
    ['docx', 'its first letters alone', Buffer.from('PK good'), /^does not open: /],
    ['csv', 'the letters of one, which is text', Buffer.from('PK;name\n1;x\n'), undefined],
    ['epub', 'no container', zipOf({ mimetype: 'x' }), 'does not open: it has no meta-inf/container.xml'],
    ['docx', 'a part with a password', zipOf(word, { flags: 1 }), /opens only with a password$/],
    ['docx', 'a method that few know', zipOf(word, { method: 14 }), undefined],
  ])('%s with %s', async (format, _what, bytes, told) => {
    const problem = await problemOf(format, bytes);
    if (told instanceof RegExp) expect(problem).toMatch(told);
    else expect(problem).toBe(told);
  });

  it.each(['docx', 'ods', 'odt', 'xlsx'])('%s that is password-protected, and its plain twin', async (format) => {
    const problems = [await problemOf(format, await sample(`locked.${format}`))];
    problems.push(await problemOf(format, await sample(`plain.${format}`)));
    expect(problems).toEqual(['opens only with a password', undefined]);
  });
});

it('for other formats, only the ends are checked', async () => {
  expect(await problemOf('txt', Buffer.from('text'))).toBeUndefined();
  expect(await problemOf('json', Buffer.from('{"a": [1, 2'))).toBe('is not whole: the end of the json file is missing');
});
