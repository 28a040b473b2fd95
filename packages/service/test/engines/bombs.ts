import { crc32, deflateRawSync, constants, deflateSync } from 'node:zlib';
import { openXml, zip } from './archives';

/** Files that are small on disk but huge in memory, or that take forever to convert. */

const svgOpen = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';

/** Each group draws the previous one ten times: 10 to the power of `levels` rectangles in all. */
export function nestedUseSvg(levels: number): string {
  const groups = Array.from({ length: levels }, (_, level) => {
    const uses = `<use xlink:href="#g${level}"/>`.repeat(10);
    return `<g id="g${level + 1}">${uses}</g>`;
  });
  return `${svgOpen} width="99" height="99"><defs><rect id="g0" width="9" height="9"/>${groups.join('')}</defs><use xlink:href="#g${levels}"/></svg>`;
}

/** The billion laughs attack: XML entities that expand exponentially. */
export function entitySvg(): string {
  const entities = Array.from(
    { length: 10 },
    (_, level) => `<!ENTITY e${level + 1} "${`&e${level};`.repeat(10)}">`,
  ).join('');
  return `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY e0 "laugh">${entities}]>${svgOpen} width="9" height="9"><text>&e10;</text></svg>`;
}

export const svgWithImage = (source: string): string =>
  `${svgOpen} width="9" height="9"><image width="9" height="9" xlink:href="${source}"/></svg>`;

/** A PNG with a header for `side` × `side` pixels and black image data for `rows` rows. */
export function hugePng(side: number, { rows = side }: { rows?: number } = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  // One bit per pixel, grey.
  header[8] = 1;
  const data = deflateSync(Buffer.alloc(rows * (1 + Math.ceil(side / 8))));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', data),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

export function pngChunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(data.length, 0);
  named.copy(framed, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}

/** An animation of one-pixel frames on a canvas of `side` by `side`. */
export function longGif({ frames, side }: { frames: number; side: number }): Buffer {
  const header = Buffer.from('GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1');
  header.writeUInt16LE(side, 6);
  header.writeUInt16LE(side, 8);
  const frame = (color: number): Buffer =>
    Buffer.from(`!\xf9\x04\0\x0a\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02${color ? 'L' : 'D'}\x01\0`, 'latin1');
  const pair = Buffer.concat([frame(0), frame(1)]);
  return Buffer.concat([header, ...Array.from({ length: frames / 2 }, () => pair), Buffer.from(';')]);
}

/** A DOCX whose text unpacks to `mebibytes` MiB; `declaredBytes` is the size in the archive's header. */
export function docxBomb(mebibytes: number, { declaredBytes = mebibytes * 1024 * 1024 } = {}): Buffer {
  const text = '<w:p><w:r><w:t>bomb</w:t></w:r></w:p>';
  const block = Buffer.from(text.repeat(Math.ceil((1024 * 1024) / text.length)));
  const open =
    '<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>';
  // A block that ends with a full flush is independent of the data before it, so it can be repeated.
  const flushed = (data: string | Buffer): Buffer =>
    deflateRawSync(data, { level: 9, finishFlush: constants.Z_FULL_FLUSH });
  const repeated = flushed(block);
  const document = Buffer.concat([
    flushed(open),
    ...Array.from({ length: mebibytes }, () => repeated),
    deflateRawSync('</w:body></w:document>'),
  ]);
  return zip([
    ...openXml('word/document.xml', 'wordprocessingml', new Map([['word/document.xml', { type: 'document.main' }]])),
    { name: 'word/document.xml', deflated: document, size: declaredBytes, crc: 0 },
  ]);
}
