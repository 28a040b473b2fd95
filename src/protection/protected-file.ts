import { isProtectedOffice } from './office';
import { isProtectedPdf } from './pdf';
import { boundedReader, type ReadAt } from './read-at';
import { readContent, readEntries } from './zip-entries';

/** Enough to recognize every format whose files can be protected. */
const headBytes = 4_096;
const compoundFile = Buffer.from('d0cf11e0a1b11ae1', 'hex');
/** The first entry of a package, which is not compressed. */
const openDocument = 'mimetypeapplication/vnd.oasis.opendocument';

/**
 * Whether a file opens only with a password, a certificate or a rights service: PDF, Office Open XML, OpenDocument, and Word, Excel and
 * PowerPoint 97 to 2003. Other files take one read; these take some more, within limits, at places that the file points to. False for
 * files that can't be read or understood, and for those that open without asking: a PDF that only restricts its use, and a workbook
 * with the password that Excel tries on its own.
 */
export async function isProtected({ size, readAt }: { size: number; readAt: ReadAt }): Promise<boolean> {
  try {
    const read = boundedReader(size, readAt);
    const head = await read(0, headBytes);
    if (head.subarray(0, compoundFile.length).equals(compoundFile)) return await isProtectedOffice(read);
    const text = head.toString('latin1');
    if (text.startsWith('PK\x03\x04'))
      return text.startsWith(openDocument, 30) && (await isProtectedOpenDocument(read, size));
    const pdf = text.slice(0, 1_024).indexOf('%PDF-');
    return pdf >= 0 && (await isProtectedPdf(read, { size, origin: pdf }));
  } catch {
    // The service may understand more, and the upload itself reports a file that can't be read.
    return false;
  }
}

const maxManifestBytes = 16 * 1024 * 1024;
/** Newer programs encrypt the whole package. Encrypted macros do not count: such a file opens without a password. */
const contents = /\bfull-path\s*=\s*["'](content\.xml|encrypted-package)["']/;

/** Whether the manifest of an OpenDocument package marks its content as encrypted. */
async function isProtectedOpenDocument(read: ReadAt, size: number): Promise<boolean> {
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
