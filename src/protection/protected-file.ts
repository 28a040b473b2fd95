import { isProtectedOffice } from './office';
import { isProtectedOpenDocument } from './open-document';
import { isProtectedPdf } from './pdf';
import { boundedReader, type ReadAt } from './read-at';

/** Formats whose files can be protected tell so within as many bytes. */
const headBytes = 4_096;
const compoundFile = Buffer.from('d0cf11e0a1b11ae1', 'hex');
/** The first entry of a package, stored as it is. */
const openDocument = 'mimetypeapplication/vnd.oasis.opendocument';

/**
 * Whether a file opens only with a password, or to those whom a certificate or a rights service lets in: PDF, Office Open XML,
 * OpenDocument, and Word, Excel and PowerPoint of 97 to 2003. Other files take one read; these some more at places that the file
 * itself points to, within limits. False for what cannot be read or understood, and for what opens without asking: a PDF that only
 * restricts what may be done with it, and a workbook with the password that Excel tries by itself.
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
    // The service may understand more, and an upload finds out by itself what cannot be read.
    return false;
  }
}
