import { peek } from '../storage/peek';
import { latin1ToWindows1252 } from '../storage/windows-1252';

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
 * The results of an asynchronous step in input order, with at most `concurrency` steps in flight. Starts them in bursts: to wake
 * Node's threads for each look at a file would cost more than the look.
 */
export async function* mapOrdered<Input, Output>(
  inputs: Iterable<Input> | AsyncIterable<Input>,
  { concurrency, signal }: { concurrency: number; signal?: AbortSignal | undefined },
  step: (input: Input) => Promise<Output>,
): AsyncGenerator<Output> {
  const underWay: Promise<Output>[] = [];
  async function* allBut(left: number): AsyncGenerator<Output> {
    while (underWay.length > left) {
      signal?.throwIfAborted();
      const [first] = underWay.splice(0, 1);
      if (first) yield await first;
    }
  }
  try {
    for await (const input of inputs) {
      signal?.throwIfAborted();
      const result = step(input);
      // The result is awaited later; until then a rejection must not end the process.
      result.catch(() => undefined);
      underWay.push(result);
      if (underWay.length === concurrency) yield* allBut(concurrency >> 1);
    }
    yield* allBut(0);
  } finally {
    await Promise.allSettled(underWay);
  }
}

export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

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

/** The text without a byte order mark. */
export async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { head, all } = await peek(chunks, (seen) => seen.length >= utf8Mark.length);
  let skip = head.subarray(0, utf8Mark.length).equals(utf8Mark) ? utf8Mark.length : 0;
  for await (const chunk of all) {
    yield chunk.subarray(skip);
    skip = 0;
  }
}
