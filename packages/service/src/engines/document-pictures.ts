import { fewOf, oneLine, type Warnings } from './conversion';
import { loadSharp, maxPixels } from './image-engine';
import { imageKind } from './pandoc-document';
import { isHere } from './programs';

/** Pictures of a document that the format of the result does not take, made into PNG. */

export interface Pictures {
  /** What the result can hold, by the names that the document has for them. */
  readonly media: ReadonlyMap<string, Uint8Array>;
  /** The names of the others. */
  readonly lost: ReadonlySet<string>;
}

/** `kinds`: what the result takes. */
export async function takenPictures(
  media: ReadonlyMap<string, Uint8Array>,
  kinds: readonly string[],
): Promise<Pictures> {
  const taken = new Map<string, Uint8Array>();
  const lost = new Set<string>();
  for (const [name, data] of media) {
    const isTaken = kinds.includes(imageKind(data) ?? '') && isWhole(Buffer.from(data));
    const png = isTaken ? data : await pngOf(Buffer.from(data));
    if (png) taken.set(name, png);
    else lost.add(name);
  }
  return { media: taken, lost };
}

/** What other pictures, drawings of Windows and packed ones begin with. */
const otherStarts = [
  'BM',
  'II',
  'MM',
  '\x1f\x8b',
  '\xd7\xcd',
  '\x01\0',
  '\x0a',
  '\0\0',
  '%!',
  '%PDF',
  'PK',
  '\xff\x4f',
  '8BPS',
  '\xc5\xd0',
];

/** Whether a picture begins as one, and is not cut off where its kind has an end. */
export function isWhole(data: Buffer): boolean {
  const kind = imageKind(data);
  if (kind === 'png') return data.includes('IEND');
  // A small picture within it has an end of its own.
  if (kind === 'jpg') return data.lastIndexOf('\xff\xd9', undefined, 'latin1') > data.length / 2;
  const head = data.toString('latin1', 0, 8);
  return kind !== undefined || otherStarts.some((start) => head.startsWith(start));
}

export function describeLostPictures(lost: ReadonlySet<string>): Warnings {
  if (lost.size === 0) return {};
  const message = `${lost.size} picture(s) of the document are not in the result, because they are damaged or of a kind that the engine does not read: ${fewOf([...lost])}. Put PNG or JPEG in their place.`;
  return { IMAGES_LOST: oneLine(message) };
}

/** Lines of a drawing are to be seen on paper, too. */
const density = 144;
/** As typst has it of pictures that do not say how large they are. */
const usualDensity = 72;

/** Undefined for what is no picture that can be read here. */
async function pngOf(data: Buffer): Promise<Uint8Array | undefined> {
  if (!isHere({ npm: 'sharp' })) return undefined;
  const sharp = await loadSharp();
  const bitmap = readBitmap(data);
  const options = bitmap ? { raw: bitmap.raw } : { density, limitInputPixels: maxPixels };
  try {
    const picture = sharp(bitmap?.pixels ?? data, options).autoOrient();
    return await picture
      .withDensity((await picture.metadata()).density ?? usualDensity)
      .png()
      .toBuffer();
  } catch {
    return undefined;
  }
}

/** A bitmap of Windows, which sharp does not read; undefined for those that are packed. */
function readBitmap(data: Buffer) {
  if (data.length < 66 || data.toString('latin1', 0, 2) !== 'BM') return undefined;
  const [start, header, packing] = [10, 14, 30].map((at) => data.readUInt32LE(at)) as [number, number, number];
  const [width, lines, bits] = [data.readInt32LE(18), data.readInt32LE(22), data.readUInt16LE(28)];
  const height = Math.abs(lines);
  const rowBytes = Math.ceil((width * bits) / 32) * 4;
  // Packed colours may be those that are usual.
  const isPlain = packing === 0 || (packing === 3 && bits === 32 && data.readUInt32LE(54) === 0xff0000);
  const isKnown = header >= 40 && [1, 4, 8, 24, 32].includes(bits) && width > 0 && width * height <= maxPixels;
  if (!isPlain || !isKnown || height === 0 || data.length < start + rowBytes * height) return undefined;
  const pixels = Buffer.alloc(width * height * 3);
  for (let to = 0; to < width * height; to += 1) {
    const [x, y] = [to % width, Math.floor(to / width)];
    const bit = x * bits;
    const byte = start + rowBytes * (lines > 0 ? height - 1 - y : y) + (bit >> 3);
    const index = ((data[byte] ?? 0) >> (8 - bits - (bit & 7))) & ((1 << bits) - 1);
    const at = bits >= 24 ? byte : 14 + header + 4 * index;
    for (let colour = 0; colour < 3; colour += 1) pixels[3 * to + colour] = data[at + 2 - colour] ?? 0;
  }
  return { pixels, raw: { width, height, channels: 3 as const } };
}
