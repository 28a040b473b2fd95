import { inflateRawSync } from 'node:zlib';
import type { ReadAt } from './read-at';

const tailBytes = 4_096;
const mostManifestBytes = 16 * 1024 * 1024;
/** Of the whole package in files of newer programs. Single macros may be encrypted in a file that opens. */
const contents = /\bfull-path\s*=\s*["'](content\.xml|encrypted-package)["']/;

/** Whether the manifest of an OpenDocument package says that its content is encrypted. */
export async function isProtectedOpenDocument(read: ReadAt, size: number): Promise<boolean> {
  const manifest = await readEntry(read, { size, name: 'META-INF/manifest.xml' });
  const entries = manifest.split(/<(?:[\w.-]+:)?file-entry\b/).slice(1);
  return entries.some((entry) => contents.test(entry) && /<(?:[\w.-]+:)?encryption-data\b/.test(entry));
}

/** @throws if the zip file has no such entry */
async function readEntry(read: ReadAt, { size, name }: { size: number; name: string }): Promise<string> {
  const tail = await read(Math.max(0, size - tailBytes), tailBytes);
  const end = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  const [bytes, start] = [tail.readUInt32LE(end + 12), tail.readUInt32LE(end + 16)];
  const directory = await read(start, bytes);
  for (let at = 0; at < bytes;) {
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => directory.readUInt16LE(at + field));
    const next = at + 46 + (nameBytes ?? 0);
    if (directory.toString('utf8', at + 46, next) === name) {
      const [method, packed, local] = [10, 20, 42].map((field) => directory.readUInt32LE(at + field));
      const header = await read(local ?? -1, 30);
      const begin = (local ?? 0) + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
      const content = await read(begin, packed ?? 0);
      const isStored = ((method ?? 0) & 0xffff) === 0;
      return (isStored ? content : inflateRawSync(content, { maxOutputLength: mostManifestBytes })).toString('utf8');
    }
    at = next + (extraBytes ?? 0) + (commentBytes ?? 0);
  }
  throw new RangeError(`Has no ${name}.`);
}
