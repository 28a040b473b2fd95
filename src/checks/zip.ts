import { crc32 } from 'node:zlib';
import type { ReadAt } from '../protection/read-at';
import { elsewhere, readContent, readEntries, type ZipEntry } from '../protection/zip-entries';

/** Limit for one entry, packed or unpacked: larger ones are trusted. */
const maxBytes = 256 * 1024 * 1024;
/** Limit for all entries together, unpacked: a zip may grow a thousandfold. The rest is trusted. */
const maxUnpackedBytes = 2 * 1024 ** 3;

/** The entries of a zip that is complete and whose entries match its directory; none if the directory is too large to read. */
export async function openZip(read: ReadAt, size: number): Promise<{ entries: ZipEntry[] } | { problem: string }> {
  const entries: ZipEntry[] = [];
  let left = maxUnpackedBytes;
  try {
    for await (const entry of readEntries(read, size)) {
      const { name } = entry;
      if (entry.isEncrypted) return { problem: `its part ${name} opens only with a password` };
      left -= entry.unpacked;
      if (left >= 0 && !(await isWhole(read, entry))) return { problem: `its part ${name} is damaged` };
      entries.push(entry);
    }
    return { entries };
  } catch (error) {
    if (error instanceof RangeError) return { problem: 'its zip directory is missing or damaged' };
    throw error;
  }
}

async function isWhole(read: ReadAt, entry: ZipEntry): Promise<boolean> {
  const { method, crc, packed, unpacked, local } = entry;
  // Methods other than stored and deflated are rare, and can't be read here.
  const isReadable = unpacked > 0 && (method === 0 || method === 8);
  if (!isReadable || Math.max(packed, unpacked) > maxBytes || local === elsewhere) return true;
  try {
    const content = await readContent(read, entry, unpacked);
    return content.length === unpacked && crc32(content) === crc;
  } catch {
    return false;
  }
}
