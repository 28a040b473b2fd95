import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { inspectError } from '../shared/caught';
import { TaskError } from '../shared/task-error';
import { errorJson } from '../tasks/answer';
import type { AnswerFault, Faults, FaultyApp } from './faults';

/**
 * Injects faults after admission and before the task, or into the answer, when the task has run. A request that admission refuses meets
 * none.
 */
export function addFaultHooks(
  server: FastifyInstance,
  {
    faults,
    knownApp,
  }: { faults: Faults; knownApp: (request: FastifyRequest) => { app: FaultyApp; refusal: TaskError | undefined } },
): void {
  const atAnswer = new WeakMap<FastifyRequest, AnswerFault>();

  server.addHook('onRequest', (request, reply, done) => {
    const { asked } = request.routeOptions.config;
    const { app, refusal } = faults.rules.isOn && asked ? knownApp(request) : {};
    if (!asked || !app || refusal) {
      done();
      return;
    }
    const { delayMs, answer } = faults.rules.ofRequest({ app, ...asked });
    void waitFor(delayMs, request).then((isThere) => {
      // If the client is gone, the task does not run either.
      if (isThere) begin(request, reply, { answer, done });
    });
  });

  server.addHook('onSend', (request, reply, payload: AnswerPayload, done) => {
    const fault = atAnswer.get(request);
    if (!fault) {
      done(null, payload);
      return;
    }
    atAnswer.delete(request);
    if (fault.kind === 'cut') cutAnswer(reply, payload, fault.at);
    else done(null, alterAnswer(fault, reply, payload));
  });

  function begin(
    request: FastifyRequest,
    reply: FastifyReply,
    { answer, done }: { answer: AnswerFault | undefined; done: (error?: Error) => void },
  ): void {
    if (!answer) done();
    else if (answer.kind === 'rate_limit') done(refuseAsTooMany(reply, answer.retry_after));
    else if (answer.kind === 'error' && answer.when === 'before') done(new TaskError('INTERNAL_SERVER_ERROR'));
    else if (answer.kind === 'html' && answer.when === 'before') void reply.send(setHtml(reply, answer.status));
    else {
      atAnswer.set(request, answer);
      done();
    }
  }
}

/** Resolves to false if the connection was closed meanwhile. */
async function waitFor(delayMs: number, { raw }: FastifyRequest): Promise<boolean> {
  if (delayMs === 0) return true;
  const closed = new AbortController();
  const abort = () => closed.abort();
  raw.socket.once('close', abort);
  try {
    await sleep(delayMs, undefined, { signal: closed.signal, ref: false });
    return true;
  } catch (error) {
    if (inspectError(error).code === 'ABORT_ERR') return false;
    throw error;
  } finally {
    raw.socket.off('close', abort);
  }
}

function refuseAsTooMany(reply: FastifyReply, retryAfter: string | undefined): TaskError {
  void reply.header('x-ratelimit-remaining', 0);
  if (retryAfter !== undefined) void reply.header('retry-after', retryAfter);
  // In the document both have the same value; if RETRY-AFTER is nonsense, the window's own value stays.
  if (retryAfter !== undefined && /^\d+$/.test(retryAfter)) void reply.header('x-ratelimit-reset', retryAfter);
  return new TaskError('TOO_MANY_REQUESTS', { subject: retryAfter ?? 'some' });
}

function alterAnswer(
  fault: Exclude<AnswerFault, CutFault>,
  reply: FastifyReply,
  payload: AnswerPayload,
): AnswerPayload {
  if (fault.kind === 'slow_download') {
    return typeof payload === 'object' && 'pipe' in payload ? slowDown(payload, fault.bytes_per_second) : payload;
  }
  if (typeof payload !== 'string') payload.destroy();
  for (const name of ['content-length', 'content-disposition']) void reply.removeHeader(name);
  if (fault.kind === 'html') return setHtml(reply, fault.status);
  void reply.code(500).header('content-type', 'application/json');
  return errorJson(new TaskError('INTERNAL_SERVER_ERROR'));
}

/** The answer of a gateway in front of a service. */
function setHtml(reply: FastifyReply, status: number): string {
  void reply.code(status).header('content-type', 'text/html; charset=utf-8');
  return `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>The gateway answers ${status}</h1></body></html>\n`;
}

type CutFault = Extract<AnswerFault, { kind: 'cut' }>;

/** Answer of a route: JSON as text, or the stream of a file. */
type AnswerPayload = string | Readable;

const slowTickMs = 100;

/** Closes the connection before the answer, after its headers, or after half of its body. The reply must not be used afterwards. */
function cutAnswer(reply: FastifyReply, payload: AnswerPayload, at: CutFault['at']): void {
  const { raw } = reply;
  const { socket } = raw;
  const discardPayload = () => typeof payload !== 'string' && payload.destroy();
  if (at === 'before_answer' || !socket) {
    discardPayload();
    raw.destroy();
    return;
  }
  if (typeof payload === 'string') void reply.header('content-length', Buffer.byteLength(payload));
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) raw.setHeader(name, value);
  }
  raw.writeHead(reply.statusCode);
  raw.flushHeaders();
  const length = Number(reply.getHeader('content-length') ?? 0);
  const bytes = at === 'mid_body' ? Math.floor(length / 2) : 0;
  void writeFirst(raw, payload, bytes).finally(() => {
    discardPayload();
    // Flushes what was written before the connection closes.
    socket.destroySoon();
  });
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

/** The same bytes, throttled to this rate. */
function slowDown(payload: Readable, bytesPerSecond: number): Readable {
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
