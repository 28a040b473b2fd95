import { isDictionary, isReference, readPdfObject, type PdfDictionary, type PdfValue } from './pdf-objects';
import { opensWithoutPassword } from './pdf-passwords';
import type { ReadAt } from './read-at';

const tailBytes = 4_096;
/** Bytes read for a trailer, and at each place where the encryption rules may be. */
const windowBytes = 64 * 1024;
/** How much windows overlap, since an object's number may lie at the end of one. */
const headingBytes = 64;

/** Whether a PDF, whose header is at `origin`, needs a password or a certificate. */
export async function isProtectedPdf(
  read: ReadAt,
  { size, origin }: { size: number; origin: number },
): Promise<boolean> {
  const text = async (at: number, length = windowBytes) => (await read(Math.max(0, at), length)).toString('latin1');
  const tail = await text(size - tailBytes, tailBytes);
  const tableAt = origin + Number(/startxref\s+(\d+)(?![^]*startxref)/.exec(tail)?.[1]);
  const trailer = trailerOf(await text(tableAt, tailBytes), tail);
  const encryption = trailer.get('/Encrypt');
  if (encryption === undefined || encryption === null) return false;
  const [id] = [trailer.get('/ID')].flat();
  const opens = (rules: PdfValue) =>
    isDictionary(rules) && opensWithoutPassword(rules, Buffer.isBuffer(id) ? id : Buffer.alloc(0));
  if (!isReference(encryption)) return !opens(encryption);
  const object = new RegExp(`(?<!\\d)${encryption.reference}\\s+\\d+\\s+obj(?=\\s*<<)`);
  for (const at of placesOfRules(tableAt, size)) {
    const found = object.exec(await text(at));
    if (found) return !opens(readPdfObject(await text(Math.max(0, at) + found.index), found[0].length).value);
  }
  return false;
}

/**
 * Without parsing tables: the rules are usually before the last table, in a linearized file near the beginning. A large part written
 * later, such as a signature, moves them from there, so that the file is searched, as far as the reader allows.
 */
function* placesOfRules(tableAt: number, size: number): Generator<number> {
  yield* [tableAt - windowBytes, size - windowBytes];
  for (let at = 0; at < size; at += windowBytes - headingBytes) yield at;
}

/** The trailer of a cross-reference stream, or of a cross-reference table that is short or the last in the file. */
function trailerOf(table: string, tail: string): PdfDictionary {
  const isOfLines = /^\s*xref/.test(table);
  const begin = isOfLines ? table.indexOf('trailer') : (/^\s*\d+\s+\d+\s+obj/.exec(table)?.[0].length ?? NaN);
  const { value } =
    begin < 0
      ? readPdfObject(tail, tail.lastIndexOf('trailer') + 7)
      : readPdfObject(table, begin + (isOfLines ? 7 : 0));
  if (isDictionary(value)) return value;
  throw new RangeError('Has no trailer.');
}
