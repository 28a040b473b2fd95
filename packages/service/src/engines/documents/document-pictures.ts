import { fewOf, oneLine, type Warnings } from '../conversion';
import { loadSharp, maxPixels } from '../pictures/image-engine';
import { imageKind } from './pandoc-document';
import { isHere } from '../programs';

/** Converts pictures that the format of the result does not support to PNG. */

export interface Pictures {
  /** Pictures that the result can hold, by their names in the document. */
  readonly media: ReadonlyMap<string, Uint8Array>;
  readonly lost: ReadonlySet<string>;
}

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

/** First bytes of other pictures, of Windows metafiles, and of compressed ones. */
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

/** Whether data begins like a picture and, if its kind has an end mark, is not cut off. */
export function isWhole(data: Buffer): boolean {
  const kind = imageKind(data);
  if (kind === 'png') return data.includes('IEND');
  // A thumbnail inside has an end mark of its own.
  if (kind === 'jpg') return data.lastIndexOf('\xff\xd9', undefined, 'latin1') > data.length / 2;
  const head = data.toString('latin1', 0, 8);
  return kind !== undefined || otherStarts.some((start) => head.startsWith(start));
}

export function describeLostPictures(lost: ReadonlySet<string>): Warnings {
  if (lost.size === 0) return {};
  const message = `${lost.size} picture(s) of the document are not in the result, because they are damaged or of a kind that the engine does not read: ${fewOf([...lost])}. Put PNG or JPEG in their place.`;
  return { IMAGES_LOST: oneLine(message) };
}

/** Lines of a drawing must be visible on paper, too. */
const density = 144;
/** typst's assumption for pictures that do not state their size. */
const defaultDensity = 72;

/** Undefined if it cannot be read as a picture. */
async function pngOf(data: Buffer): Promise<Uint8Array | undefined> {
  if (!isHere({ npm: 'sharp' })) return undefined;
  const sharp = await loadSharp();
  try {
    const picture = sharp(data, { density, limitInputPixels: maxPixels }).autoOrient();
    return await picture
      .withDensity((await picture.metadata()).density ?? defaultDensity)
      .png()
      .toBuffer();
  } catch {
    return undefined;
  }
}
