import { inflateRawSync } from 'node:zlib';
import type { ReadAt } from './read-at';

export interface ZipEntry {
  name: string;
  isEncrypted: boolean;
  method: number;
  crc: number;
  /** Size in the file. */
  packed: number;
  unpacked: number;
  /** Offset of the local header. */
  local: number;
}

/** Room for the comment that may follow the directory of a zip. */
const tailBytes = 66_000;
/** Limit for the directory; a zip with a larger one is not read. */
const maxBytes = 256 * 1024 * 1024;
/** Marks a number that is stored elsewhere, as in files above 4 GiB, which is not supported here. */
export const elsewhere = 0xffff_ffff;

/** The directory's entries; none if it is too large. @throws RangeError if it is missing or damaged */
export async function* readEntries(read: ReadAt, size: number): AsyncGenerator<ZipEntry> {
  const tail = await read(Math.max(size - tailBytes, 0), Math.min(size, tailBytes));
  const end = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  const [bytes, start] = [tail.readUInt32LE(end + 12), tail.readUInt32LE(end + 16)];
  if (end >= 0 && (start === elsewhere || bytes > maxBytes)) return;
  if (end < 0 || end + 22 > tail.length || bytes === 0 || start + bytes > size) throw new RangeError('No directory.');
  const directory = await read(start, bytes);
  for (let at = 0; at < bytes;) {
    const [crc = 0, packed = 0, unpacked = 0, local = 0] = [16, 20, 24, 42].map((n) => directory.readUInt32LE(at + n));
    const [flags = 0, method = 0, name = 0, ...others] = [8, 10, 28, 30, 32].map((n) => directory.readUInt16LE(at + n));
    if (directory.toString('latin1', at, at + 4) !== 'PK\x01\x02') throw new RangeError('No entry.');
    const nameEnd = at + 46 + name;
    const isEncrypted = (flags & 1) === 1;
    yield { name: directory.toString('utf8', at + 46, nameEnd), isEncrypted, method, crc, packed, unpacked, local };
    at = others.reduce((sum, length) => sum + length, nameEnd);
  }
}

/** Content of a stored or deflated entry. @throws if it is damaged, or larger than `maxBytes` */
export async function readContent(
  read: ReadAt,
  { local, packed, method }: ZipEntry,
  maxBytes: number,
): Promise<Buffer> {
  const header = await read(local, 30);
  if (header.toString('latin1', 0, 4) !== 'PK\x03\x04') throw new RangeError('No entry.');
  const bytes = await read(local + 30 + header.readUInt16LE(26) + header.readUInt16LE(28), packed);
  return method === 0 ? bytes : inflateRawSync(bytes, { maxOutputLength: maxBytes });
}
