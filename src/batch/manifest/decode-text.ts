import { latin1ToWindows1252 } from '../../shared/windows-1252';
import { peek } from '../lines';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes UTF-8; undefined if the bytes are invalid, rather than text with replacement characters. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Decodes Windows-1252; undefined if a byte is not assigned there. */
export function decodeWindows1252(bytes: Buffer): string | undefined {
  const text = latin1ToWindows1252(bytes.toString('latin1'));
  return /[\x80-\x9f]/.test(text) ? undefined : text;
}

const utf8Mark = Buffer.from([0xef, 0xbb, 0xbf]);

/** How UTF-16 starts: with a byte order mark, or with an ASCII character, as every manifest does. */
const utf16 = [
  { encoding: 'utf-16le', isIn: ([first, second]: Buffer) => (first === 0xff && second === 0xfe) || second === 0 },
  { encoding: 'utf-16be', isIn: ([first, second]: Buffer) => (first === 0xfe && second === 0xff) || first === 0 },
];

/** UTF-16 text that ends within a character or holds an invalid one. */
export class DamagedTextError extends Error {
  override readonly name = 'DamagedTextError';
}

/** The text in UTF-8 without a byte order mark, also if it is UTF-16 ("Unicode text"). Throws DamagedTextError. */
export async function* inUtf8(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { head, all } = await peek(chunks, (seen) => seen.length >= utf8Mark.length);
  const encoding = head.length < 2 ? undefined : utf16.find(({ isIn }) => isIn(head))?.encoding;
  if (encoding !== undefined) {
    yield* transcode(all, encoding);
    return;
  }
  let skip = head.subarray(0, utf8Mark.length).equals(utf8Mark) ? utf8Mark.length : 0;
  for await (const chunk of all) {
    yield chunk.subarray(skip);
    skip = 0;
  }
}

async function* transcode(chunks: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const decode = (chunk?: Buffer) => {
    try {
      return Buffer.from(decoder.decode(chunk, { stream: chunk !== undefined }));
    } catch (error) {
      throw new DamagedTextError(`the text is damaged ${encoding}`, { cause: error });
    }
  };
  for await (const chunk of chunks) yield decode(chunk);
  decode();
}
