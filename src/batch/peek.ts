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
