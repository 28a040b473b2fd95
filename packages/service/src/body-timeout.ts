import type { FastifyReply, FastifyRequest } from 'fastify';

/** Far below what any connection manages, far above what somebody sends who only wants to keep connections busy. */
const leastBytes = 64 * 1024;

/** Time for the answer to leave before the connection is cut under the rest of the body. */
const answerGraceMs = 500;

/**
 * Gives up on a body that neither ends nor brings another 64 KiB within the time: `refuse` may answer, then the connection is
 * cut. A limit on the whole body would be one on the size of uploads, and one on silence alone allows a byte a minute.
 */
export function watchBody(
  { raw }: FastifyRequest,
  reply: FastifyReply,
  { bodyTimeoutMs, refuse }: { bodyTimeoutMs: number; refuse: () => void },
): void {
  const { socket } = raw;
  let received = socket.bytesRead;
  const timer = setInterval(() => {
    if (!raw.complete && socket.bytesRead - received >= leastBytes) {
      received = socket.bytesRead;
      return;
    }
    clearInterval(timer);
    if (raw.complete) return;
    if (!reply.sent) refuse();
    setTimeout(() => raw.destroy(), answerGraceMs);
  }, bodyTimeoutMs);
  timer.unref();
  raw.once('close', () => clearInterval(timer));
}

export function describeSlowBody(bodyTimeoutMs: number): string {
  return `The body of the request came too slowly: it must end, or bring another ${leastBytes / 1024} KiB, every ${bodyTimeoutMs / 1000} s.`;
}
