import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';

/** Answers that break off, or come slowly. */

/** What a route answers with: JSON as text, or the stream of a file. */
export type AnswerPayload = string | Readable;

const slowTickMs = 100;

export function discardPayload(payload: AnswerPayload): void {
  if (typeof payload !== 'string') payload.destroy();
}

/** Closes the connection in place of an answer, after its headers, or after half of its body. The reply must not be used any more. */
export function cutAnswer(
  reply: FastifyReply,
  payload: AnswerPayload,
  at: 'before_answer' | 'after_headers' | 'mid_body',
): void {
  const { raw } = reply;
  const { socket } = raw;
  if (at === 'before_answer' || !socket) {
    discardPayload(payload);
    raw.destroy();
    return;
  }
  if (typeof payload === 'string') void reply.header('content-length', Buffer.byteLength(payload));
  raw.writeHead(reply.statusCode, definedOnly(reply.getHeaders()));
  raw.flushHeaders();
  const length = Number(reply.getHeader('content-length') ?? 0);
  const bytes = at === 'mid_body' ? Math.floor(length / 2) : 0;
  void writeFirst(raw, payload, bytes).finally(() => {
    discardPayload(payload);
    // What was written goes out before the connection closes.
    socket.destroySoon();
  });
}

function definedOnly(headers: ReturnType<FastifyReply['getHeaders']>): Record<string, string | number | string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

async function writeFirst(raw: FastifyReply['raw'], payload: AnswerPayload, bytes: number): Promise<void> {
  let left = bytes;
  if (left === 0) return;
  for await (const chunk of Readable.from(typeof payload === 'string' ? [Buffer.from(payload)] : payload)) {
    const piece = (chunk as Buffer).subarray(0, left);
    await new Promise<void>((resolve) => raw.write(piece, () => resolve()));
    left -= piece.length;
    if (left === 0 || raw.destroyed) return;
  }
}

/** The same bytes, so many a second. */
export function slowDown(payload: Readable, bytesPerSecond: number): Readable {
  const pieceBytes = Math.max(1, Math.floor((bytesPerSecond * slowTickMs) / 1_000));
  const gone = new AbortController();
  async function* pieces(): AsyncGenerator<Buffer> {
    for await (const chunk of payload) {
      const bytes = chunk as Buffer;
      for (let start = 0; start < bytes.length; start += pieceBytes) {
        const piece = bytes.subarray(start, start + pieceBytes);
        await sleep((piece.length / bytesPerSecond) * 1_000, undefined, { signal: gone.signal, ref: false });
        yield piece;
      }
    }
  }
  const slowed = Readable.from(pieces(), { objectMode: false, highWaterMark: pieceBytes });
  slowed.once('close', () => {
    gone.abort();
    payload.destroy();
  });
  return slowed;
}
