import type { ReadAt } from '../protection/read-at';

/** A file whose blocks are short is read into memory as a whole. */
const maxBytes = 256 * 1024 * 1024;
/** Boxes that must be whole. Others may be data that a program has appended. */
const boxes = ['mdat', 'meta', 'moof', 'moov'];

/**
 * Whether a file that consists of blocks with stated lengths ends before its last one. Decoders don't tell if the frames before are whole.
 *
 * @returns false if it can't be told.
 */
export async function isCut(read: ReadAt, size: number, format: string): Promise<boolean> {
  if (format === 'png') return isCutPng(read, size);
  if (format === 'gif') return size <= maxBytes && isCutGif(await read(0, size));
  return ['avif', 'heic', 'm4a', 'm4v', 'mov', 'mp4'].includes(format) && isCutMedia(read, size);
}

async function isCutPng(read: ReadAt, size: number): Promise<boolean> {
  for (let at = 8; at + 12 <= size;) {
    const chunk = await read(at, 8);
    if (chunk.toString('latin1', 4) === 'IEND') return false;
    at += 12 + chunk.readUInt32BE();
  }
  return true;
}

function isCutGif(bytes: Buffer): boolean {
  const byte = (at: number) => bytes[at] ?? 0;
  const colors = (at: number) => (byte(at) & 0x80 ? 6 << (byte(at) & 7) : 0);
  for (let at = 13 + colors(10); at < bytes.length; at += 1) {
    if (byte(at) === 0x2c) at += 11 + colors(at + 9);
    else if (byte(at) === 0x21) at += 2;
    else return false;
    while (byte(at) > 0) at += 1 + byte(at);
    // Some programs leave out the last byte, and readers accept it.
    if (at === bytes.length - 1) return false;
  }
  return true;
}

/** A file of MPEG-4 or its relatives: pictures, sound and films. */
async function isCutMedia(read: ReadAt, size: number): Promise<boolean> {
  let isDescribed = false;
  for (let at = 0; at + 16 <= size;) {
    const box = await read(at, 16);
    const name = box.toString('latin1', 4, 8);
    const stated = box.readUInt32BE();
    const length = stated === 1 ? Number(box.readBigUInt64BE(8)) : stated;
    isDescribed ||= name === 'meta' || name === 'moov';
    if (boxes.includes(name) && at + length > size) return true;
    // The last one may leave out its length.
    if (length < 8) break;
    at += length;
  }
  return !isDescribed;
}
