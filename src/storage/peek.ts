interface Peeked {
  head: Buffer;
  /** The stream ends with `head`. */
  isWhole: boolean;
  /** Includes `head`. Closes the stream when it ends. */
  all: AsyncGenerator<Buffer>;
  close: () => Promise<unknown>;
}

/** @param isEnough called with the bytes so far; chunks may have any size. */
export async function peek(chunks: AsyncIterable<Buffer>, isEnough: (head: Buffer) => boolean): Promise<Peeked> {
  const iterator = chunks[Symbol.asyncIterator]();
  let room = Buffer.alloc(0);
  let head = room;
  let isWhole = false;
  while (!isWhole && !isEnough(head)) {
    const next = await iterator.next();
    isWhole = next.done === true;
    if (next.done) continue;
    const length = head.length + next.value.length;
    // Doubles the room each time, so that many small chunks are not copied again and again.
    if (length > room.length) room = Buffer.concat([head, next.value], Math.max(length, 2 * room.length));
    else next.value.copy(room, head.length);
    head = room.subarray(0, length);
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
