import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Admission } from '../admission';
import { errorJson } from '../answer';
import { inspectError } from '../caught';
import { TaskError } from '../task-error';
import { type AnswerPayload, cutAnswer, discardPayload, slowDown } from './broken-answer';
import type { AnswerFault } from './fault-rules';
import type { Faults } from './faults';

/**
 * Where faults happen: in front of the task, after admission, and at the answer, when the task has run. A request that admission refuses
 * meets none.
 */
export function addFaultHooks(
  server: FastifyInstance,
  { faults, admission }: { faults: Faults; admission: Admission },
): void {
  const atAnswer = new WeakMap<FastifyRequest, AnswerFault>();

  server.addHook('onRequest', (request, reply, done) => {
    const { asked } = request.routeOptions.config;
    if (!faults.isOn || !asked) {
      done();
      return;
    }
    const { delayMs, answer } = faults.ofRequest({ app: admission.appOf(request), ...asked });
    void waitFor(delayMs, request).then((isThere) => {
      // Nobody waits for the answer any more, so the task does not run either.
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

/** Resolves to false when the connection was closed meanwhile. */
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
  // In the document both have the same value; where RETRY-AFTER is nonsense, the window's own stays.
  if (retryAfter !== undefined && /^\d+$/.test(retryAfter)) void reply.header('x-ratelimit-reset', retryAfter);
  return new TaskError('TOO_MANY_REQUESTS', { subject: retryAfter ?? 'some' });
}

function alterAnswer(
  fault: Exclude<AnswerFault, { kind: 'cut' }>,
  reply: FastifyReply,
  payload: AnswerPayload,
): AnswerPayload {
  if (fault.kind === 'slow_download') {
    return typeof payload === 'object' && 'pipe' in payload ? slowDown(payload, fault.bytes_per_second) : payload;
  }
  discardPayload(payload);
  for (const name of ['content-length', 'content-disposition']) void reply.removeHeader(name);
  if (fault.kind === 'html') return setHtml(reply, fault.status);
  void reply.code(500).header('content-type', 'application/json');
  return errorJson(new TaskError('INTERNAL_SERVER_ERROR'));
}

/** What a gateway in front of a service answers with. */
function setHtml(reply: FastifyReply, status: number): string {
  void reply.code(status).header('content-type', 'text/html; charset=utf-8');
  return `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>The gateway answers ${status}</h1></body></html>\n`;
}
