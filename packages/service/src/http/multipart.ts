import { messageOf } from '../shared/caught';
import { unreadableForm } from '../tasks/request-data';
import { fileNameIn, parametersIn } from './header-parameters';

/** Reads multipart forms (RFC 7578) as they arrive: no more than a chunk is in memory. */

export interface FormPart {
  /** Empty when it has none. */
  readonly name: string;
  /** Of a file; undefined for a text. */
  readonly fileName: string | undefined;
  /** Can be read once, before the next part is asked for; what is not read is left out. */
  readonly bytes: AsyncIterable<Buffer>;
  /** All of it, in the character set that it names; undefined when it has more bytes. */
  readonly text: (maxBytes: number) => Promise<string | undefined>;
}

const maxHeaderBytes = 16 * 1024;
const cutOff = 'as it ends before its last boundary';

export async function* readParts(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  contentType: string,
): AsyncGenerator<FormPart> {
  const boundary = parametersIn(contentType).get('boundary');
  if (boundary === undefined) throw unreadableForm('as its content type names no boundary');
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  const iterator = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  // The first delimiter has no line before it.
  let unread: Buffer = Buffer.from('\r\n');
  let isInside = true;

  try {
    await drain(untilDelimiter('as it does not hold the boundary that its content type names'));
    for (;;) {
      while (unread.length < 2) await more(cutOff);
      if (unread.toString('latin1', 0, 2) === '--') return;
      const headers = await readHeaders();
      isInside = true;
      const bytes = untilDelimiter(cutOff);
      const disposition = headers.get('content-disposition') ?? '';
      const charset = parametersIn(headers.get('content-type') ?? '').get('charset');
      requirePlain(headers.get('content-transfer-encoding') ?? '8bit');
      yield {
        name: parametersIn(disposition).get('name') ?? '',
        fileName: fileNameIn(disposition),
        bytes,
        text: async (maxBytes) => readText(bytes, charset, maxBytes),
      };
      await drain(untilDelimiter(cutOff));
    }
  } finally {
    await iterator.return?.();
  }

  async function more(missing: string): Promise<void> {
    const next = await Promise.resolve(iterator.next()).catch((error: unknown) => {
      throw unreadableForm(`as the connection broke: ${messageOf(error)}`);
    });
    if (next.done === true) throw unreadableForm(missing);
    unread = unread.length === 0 ? next.value : Buffer.concat([unread, next.value]);
  }

  async function* untilDelimiter(missing: string): AsyncGenerator<Buffer> {
    while (isInside) {
      const end = unread.indexOf(delimiter);
      isInside = end === -1;
      // The last bytes may be the beginning of a delimiter.
      const sure = isInside ? Math.max(0, unread.length - delimiter.length + 1) : end;
      const bytes = unread.subarray(0, sure);
      unread = unread.subarray(isInside ? sure : sure + delimiter.length);
      if (bytes.length > 0) yield bytes;
      if (isInside) await more(missing);
    }
  }

  async function readHeaders(): Promise<Map<string, string>> {
    for (;;) {
      const end = unread.indexOf('\r\n\r\n');
      const next = unread.indexOf(delimiter);
      if (
        end > maxHeaderBytes ||
        (end === -1 && (next !== -1 || unread.length > maxHeaderBytes)) ||
        (next !== -1 && next < end)
      ) {
        throw unreadableForm('as the headers of a part do not end');
      }
      // A part may have no body at all, and its headers end with the line end of the next delimiter then.
      if (end !== -1 && unread.length >= end + 2 + delimiter.length) {
        const headers = headersIn(decode(unread.subarray(0, end)));
        unread = unread.subarray(next === end + 2 ? next : end + 4);
        return headers;
      }
      await more(cutOff);
    }
  }
}

async function drain(bytes: AsyncGenerator<Buffer>): Promise<void> {
  let isDone: boolean | undefined = false;
  while (isDone !== true) isDone = (await bytes.next()).done;
}

async function readText(bytes: AsyncIterable<Buffer>, charset: string | undefined, maxBytes: number) {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return decode(Buffer.concat(chunks), charset);
}

/** What is not UTF-8, nor says what it is, is taken for Latin-1. */
function decode(bytes: Buffer, charset = 'utf-8'): string {
  for (const label of [charset, 'utf-8']) {
    try {
      return new TextDecoder(label, { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      // Unknown, or not so encoded.
    }
  }
  return bytes.toString('latin1');
}

/** A line that begins with a blank continues the one before it. */
function headersIn(head: string): Map<string, string> {
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  return new Map(
    lines.flatMap((line): [string, string][] => {
      const colon = line.indexOf(':');
      return colon === -1 ? [] : [[line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]];
    }),
  );
}

/** RFC 7578 has no encodings; mail programs and old clients do. */
function requirePlain(encoding: string): void {
  if (/^(7bit|8bit|binary)$/i.test(encoding)) return;
  throw unreadableForm(`as a part comes in the transfer encoding ${encoding}; send its bytes as they are`);
}
