import type { ReadAt } from './read-at';
import { readContent, readEntries } from './zip-entries';

const maxManifestBytes = 16 * 1024 * 1024;
/** Newer programs encrypt the whole package. Encrypted macros do not count: such a file opens without a password. */
const contents = /\bfull-path\s*=\s*["'](content\.xml|encrypted-package)["']/;

/** Whether the manifest of an OpenDocument package marks its content as encrypted. */
export async function isProtectedOpenDocument(read: ReadAt, size: number): Promise<boolean> {
  const manifest = await readManifest(read, size);
  const entries = manifest.split(/<(?:[\w.-]+:)?file-entry\b/).slice(1);
  return entries.some((entry) => contents.test(entry) && /<(?:[\w.-]+:)?encryption-data\b/.test(entry));
}

async function readManifest(read: ReadAt, size: number): Promise<string> {
  for await (const entry of readEntries(read, size)) {
    if (entry.name === 'META-INF/manifest.xml')
      return (await readContent(read, entry, maxManifestBytes)).toString('utf8');
  }
  return '';
}
