/** The beginning of a stream, and the whole of it. */
interface Peeked {
  head: Buffer;
  /** There is nothing behind the beginning. */
  isWhole: boolean;
  /** Closes the stream when it ends. */
  all: AsyncGenerator<Buffer>;
  close: () => Promise<unknown>;
}

/** @param isEnough called with the bytes so far; a stream may start with a chunk of any size. */
export async function peek(chunks: AsyncIterable<Buffer>, isEnough: (head: Buffer) => boolean): Promise<Peeked> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  let isWhole = false;
  while (!isWhole && !isEnough(head)) {
    const next = await iterator.next();
    if (next.done) isWhole = true;
    else head = Buffer.concat([head, next.value]);
  }
  async function* all() {
    try {
      if (head.length > 0) yield head;
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }
  return { head, isWhole, all: all(), close: async () => iterator.return?.() };
}
