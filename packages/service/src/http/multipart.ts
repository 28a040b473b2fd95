import { messageOf } from '../shared/caught';
import { unreadableForm } from '../tasks/request-data';
import { fileNameIn, parametersIn } from './header-parameters';

/** Reads multipart forms (RFC 7578) as a stream, with at most a chunk in memory. */

/** The headers of a part. */
export interface PartHead {
  /** Empty if the part has none. */
  readonly name: string;
  /** File name; undefined for a text. */
  readonly fileName: string | undefined;
  readonly charset: string | undefined;
}

export interface FormPart extends PartHead {
  /** Can be read once, before the next part is requested; unread bytes are skipped. */
  readonly bytes: AsyncIterable<Buffer>;
}

const maxHeaderBytes = 16 * 1024;
const cutOff = 'as it ends before its last boundary';

/** Parses a form whose bytes the caller supplies. */
export class FormReader {
  private readonly delimiter: Buffer;
  /** Stands for the line end that the first delimiter lacks. */
  private unread: Buffer = Buffer.from('\r\n');

  constructor(contentType: string) {
    const boundary = parametersIn(contentType).get('boundary');
    if (boundary === undefined) throw unreadableForm('as its content type names no boundary');
    this.delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  /**
   * Yields the head of each part, and then its bytes; bytes before the first head belong to no part. Yields undefined to ask for the next
   * chunk of the form; the caller answers with undefined after the last one.
   */
  *read(): Generator<PartHead | Buffer | undefined, void, Buffer | undefined> {
    yield* this.untilDelimiter('as it does not hold the boundary that its content type names');
    for (;;) {
      while (this.unread.length < 2) yield* this.more(cutOff);
      if (this.unread.toString('latin1', 0, 2) === '--') return;
      const headers = yield* this.readHeaders();
      requirePlain(headers.get('content-transfer-encoding') ?? '8bit');
      const disposition = parametersIn(headers.get('content-disposition') ?? '');
      const charset = parametersIn(headers.get('content-type') ?? '').get('charset');
      yield { name: disposition.get('name') ?? '', fileName: fileNameIn(disposition), charset };
      yield* this.untilDelimiter(cutOff);
    }
  }

  private *more(missing: string): Generator<undefined, void, Buffer | undefined> {
    const next = yield;
    if (next === undefined) throw unreadableForm(missing);
    this.unread = this.unread.length === 0 ? next : Buffer.concat([this.unread, next]);
  }

  private *untilDelimiter(missing: string): Generator<Buffer | undefined, void, Buffer | undefined> {
    for (;;) {
      const { unread, delimiter } = this;
      const end = unread.indexOf(delimiter);
      // The last bytes may be the start of a delimiter.
      const sure = end === -1 ? Math.max(0, unread.length - delimiter.length + 1) : end;
      this.unread = unread.subarray(end === -1 ? sure : sure + delimiter.length);
      if (sure > 0) yield unread.subarray(0, sure);
      if (end !== -1) return;
      yield* this.more(missing);
    }
  }

  private *readHeaders(): Generator<undefined, Map<string, string>, Buffer | undefined> {
    for (;;) {
      const { unread, delimiter } = this;
      const end = unread.indexOf('\r\n\r\n');
      const next = unread.indexOf(delimiter);
      if (
        end > maxHeaderBytes ||
        (end === -1 && (next !== -1 || unread.length > maxHeaderBytes)) ||
        (next !== -1 && next < end)
      ) {
        throw unreadableForm('as the headers of a part do not end');
      }
      // A part may have no body; its headers then end with the line end of the next delimiter.
      if (end !== -1 && unread.length >= end + 2 + delimiter.length) {
        this.unread = unread.subarray(next === end + 2 ? next : end + 4);
        return headersIn(decode(unread.subarray(0, end)));
      }
      yield* this.more(cutOff);
    }
  }
}

/** Parts of a form that comes in chunks. */
export async function* readParts(chunks: AsyncIterable<Buffer>, contentType: string): AsyncGenerator<FormPart> {
  const form = new FormReader(contentType).read();
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    let at = await next();
    const bytes = async function* (): AsyncGenerator<Buffer> {
      while (Buffer.isBuffer((at = await next()))) yield at;
    };
    while (at !== undefined) {
      const read = at;
      if (!Buffer.isBuffer(read)) yield { ...read, bytes: bytes() };
      // If all bytes of the part were read, `at` is the next one already.
      if (at === read) at = await next();
    }
  } finally {
    await iterator.return?.();
  }

  async function next(): Promise<PartHead | Buffer | undefined> {
    let step = form.next();
    while (step.done !== true && step.value === undefined) {
      const chunk = await iterator.next().catch((error: unknown) => {
        throw unreadableForm(`as the connection broke: ${messageOf(error)}`);
      });
      step = form.next(chunk.done === true ? undefined : chunk.value);
    }
    return step.done === true ? undefined : step.value;
  }
}

/** Falls back to Latin-1 for bytes that are neither in their stated encoding nor in UTF-8. */
export function decode(bytes: Buffer, charset = 'utf-8'): string {
  for (const label of [charset, 'utf-8']) {
    try {
      return (label === 'utf-8' ? utf8 : decoderOf(label)).decode(bytes);
    } catch {
      // The encoding is unknown, or the bytes are not in it.
    }
  }
  return bytes.toString('latin1');
}

const decoderOf = (label: string) => new TextDecoder(label, { fatal: true, ignoreBOM: true });
/** Shared: nearly every field is UTF-8, and creating a decoder takes longer than reading a field. */
const utf8 = decoderOf('utf-8');

/** A line that begins with a blank continues the one before it. */
function headersIn(head: string): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon !== -1) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

/** RFC 7578 has no transfer encodings; mail programs and old clients use them. */
function requirePlain(encoding: string): void {
  if (/^(7bit|8bit|binary)$/i.test(encoding)) return;
  throw unreadableForm(`as a part comes in the transfer encoding ${encoding}; send its bytes as they are`);
}
