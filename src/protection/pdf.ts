import { isDictionary, isReference, readObject, type PdfDictionary, type PdfValue } from './pdf-objects';
import { opensWithoutPassword } from './pdf-passwords';
import type { ReadAt } from './read-at';

const tailBytes = 4_096;
/** Read of a trailer, and of each place where the encryption rules may be. */
const windowBytes = 64 * 1024;

/** Whether a PDF, whose header is at `origin`, asks for a password or a certificate. */
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
  // Before the table in what was written at once, and near the begin of what is linearized. No table of objects need be read.
  const object = new RegExp(`(?<!\\d)${encryption.reference}\\s+\\d+\\s+obj(?=\\s*<<)`);
  for (const at of [tableAt - windowBytes, 0, size - windowBytes]) {
    const window = await text(at);
    const found = object.exec(window);
    if (found) return !opens(readObject(window, found.index + found[0].length).value);
  }
  return false;
}

/** The trailer of a cross-reference table, if it is short or the last in the file, or of a cross-reference stream. */
function trailerOf(table: string, tail: string): PdfDictionary {
  const isOfLines = /^\s*xref/.test(table);
  const begin = isOfLines ? table.indexOf('trailer') : (/^\s*\d+\s+\d+\s+obj/.exec(table)?.[0].length ?? NaN);
  const { value } =
    begin < 0 ? readObject(tail, tail.lastIndexOf('trailer') + 7) : readObject(table, begin + (isOfLines ? 7 : 0));
  if (isDictionary(value)) return value;
  throw new RangeError('Has no trailer.');
}
