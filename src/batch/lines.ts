import { open, type FileHandle } from 'node:fs/promises';

/** One line of a file, without its terminator. */
export interface Line {
  /** From 1. */
  number: number;
  bytes: Buffer;
  /** False for a last line without a terminator: its writer may have been killed. */
  terminated: boolean;
  /** The line is longer than allowed, and `bytes` is incomplete. */
  tooLong: boolean;
  /** Offset of the next line in the stream. */
  end: number;
}

const newline = 0x0a;
const carriageReturn = 0x0d;

/**
 * Splits a stream into lines, holding at most one line in memory.
 *
 * @param options.separator the byte that ends a line. Default: LF, with an optional CR before it.
 * @param options.maxLineBytes the rest of a longer line is dropped. Default: 1 MiB.
 */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  { separator = newline, maxLineBytes = 1024 * 1024 }: { separator?: number; maxLineBytes?: number } = {},
): AsyncGenerator<Line> {
  let number = 0;
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let end = 0;
  const keep = (part: Buffer) => {
    if (keptBytes <= maxLineBytes && part.length > 0) kept.push(part);
    keptBytes += part.length;
  };
  const finish = (terminated: boolean): Line => {
    number += 1;
    let bytes = kept.length === 1 && kept[0] ? kept[0] : Buffer.concat(kept);
    if (separator === newline && bytes.at(-1) === carriageReturn) bytes = bytes.subarray(0, -1);
    const tooLong = keptBytes > maxLineBytes;
    end += keptBytes + (terminated ? 1 : 0);
    kept = [];
    keptBytes = 0;
    return { number, bytes, terminated, tooLong, end };
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf(separator); at >= 0; at = chunk.indexOf(separator, start)) {
      keep(chunk.subarray(start, at));
      yield finish(true);
      start = at + 1;
    }
    // Copied, so that a small rest does not keep a whole chunk alive.
    if (start < chunk.length) keep(start === 0 ? chunk : Buffer.from(chunk.subarray(start)));
  }
  if (keptBytes > 0) yield finish(false);
}

/**
 * The beginning of a stream, and the whole stream, which is closed when `all` ends or by `close`.
 *
 * @param isEnough called with the bytes so far; a pipe may start with a chunk of any size.
 */
export async function peek(
  chunks: AsyncIterable<Buffer>,
  isEnough: (head: Buffer) => boolean,
): Promise<{ head: Buffer; all: AsyncIterable<Buffer>; close: () => Promise<unknown> }> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (!isEnough(head)) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  async function* all() {
    try {
      if (head.length > 0) yield head;
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }
  return { head, all: all(), close: async () => iterator.return?.() };
}

const bufferedCharacters = 64 * 1024;

export class JsonlWriter {
  #lines: string[] = [];
  #characters = 0;

  private constructor(private readonly handle: FileHandle) {}

  /** @throws if the file exists. */
  static async create(file: string): Promise<JsonlWriter> {
    return new JsonlWriter(await open(file, 'wx'));
  }

  async write(value: unknown): Promise<void> {
    const line = `${JSON.stringify(value)}\n`;
    this.#lines.push(line);
    this.#characters += line.length;
    if (this.#characters >= bufferedCharacters) await this.flush();
  }

  async flush(): Promise<void> {
    const text = this.#lines.join('');
    this.#lines = [];
    this.#characters = 0;
    if (text !== '') await this.handle.appendFile(text);
  }

  /** Does not flush: call `flush` first, or the last lines may be missing. */
  async close(): Promise<void> {
    await this.handle.close();
  }
}
