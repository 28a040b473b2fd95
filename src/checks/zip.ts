import type { FileHandle } from 'node:fs/promises';
import { crc32, inflateRawSync } from 'node:zlib';

/** A comment may stand behind the end of a zip. */
const tailBytes = 66_000;
/** Packed or unpacked, of an entry: what is larger is believed. */
const mostBytes = 256 * 1024 * 1024;
/** Of all entries together, unpacked: a zip may grow a thousandfold. The rest is believed. */
const mostUnpackedBytes = 2 * 1024 ** 3;
/** Of a number that stands elsewhere, as in files of more than 4 GiB: nothing is read there. */
const elsewhere = 0xffff_ffff;

/** The names in a zip whose directory is whole, and whose entries are what it says of them; empty: it is too large to tell. */
export async function openZip(file: FileHandle, size: number): Promise<{ names: string[] } | { problem: string }> {
  const damaged = { problem: 'its zip directory is missing or damaged' };
  const tail = await readBytes(file, Math.max(size - tailBytes, 0), Math.min(size, tailBytes));
  const end = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  if (end < 0 || end + 22 > tail.length) return damaged;
  const [bytes, start] = [tail.readUInt32LE(end + 12), tail.readUInt32LE(end + 16)];
  if (start === elsewhere || bytes > mostBytes) return { names: [] };
  if (bytes === 0 || start + bytes > size) return damaged;
  const directory = await readBytes(file, start, bytes);
  const names: string[] = [];
  let left = mostUnpackedBytes;
  for (let at = 0; at < bytes;) {
    if (at + 46 > bytes || directory.toString('latin1', at, at + 4) !== 'PK\x01\x02') return damaged;
    const nameEnd = at + 46 + directory.readUInt16LE(at + 28);
    const name = directory.toString('utf8', at + 46, nameEnd);
    if (directory.readUInt16LE(at + 8) & 1) return { problem: `its part ${name} opens only with a password` };
    left -= directory.readUInt32LE(at + 24);
    if (left >= 0 && !(await isWhole(file, directory.subarray(at)))) return { problem: `its part ${name} is damaged` };
    names.push(name);
    at = nameEnd + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  return { names };
}

/** Fewer only at the end. */
export async function readBytes(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, start);
  return buffer.subarray(0, bytesRead);
}

async function isWhole(file: FileHandle, entry: Buffer): Promise<boolean> {
  const [crc = 0, packed = 0, unpacked = 0, local = 0] = [16, 20, 24, 42].map((field) => entry.readUInt32LE(field));
  if (Math.max(packed, unpacked) > mostBytes || local === elsewhere) return true;
  const header = await readBytes(file, local, 30);
  if (header.length < 30 || header.toString('latin1', 0, 4) !== 'PK\x03\x04') return false;
  const method = entry.readUInt16LE(10);
  // Others than stored and deflated are rare, and none of ours to read.
  if ((method !== 0 && method !== 8) || unpacked === 0) return true;
  const bytes = await readBytes(file, local + 30 + header.readUInt16LE(26) + header.readUInt16LE(28), packed);
  try {
    const content = method === 0 ? bytes : inflateRawSync(bytes, { maxOutputLength: unpacked });
    return content.length === unpacked && crc32(content) === crc;
  } catch {
    return false;
  }
}
