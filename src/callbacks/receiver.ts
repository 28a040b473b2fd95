import type { AddressInfo } from 'node:net';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { CallbackSubmission } from '../shared/callback';
import type { Log } from '../shared/log';
import { serverUrl } from '../shared/server-url';
import type { CallbackKeys } from './callback-key';
import { readCallbackToken } from './callback-url';
import type { ReceiverMetrics } from './receiver-metrics';
import type { SignalJob } from './signal-job';
import { createSignalOnce } from './signal-once';
import { readTaskHint } from './task-hint';

export interface CallbackReceiverOptions {
  keys: CallbackKeys;
  signalJob: SignalJob;
  /** Default: 127.0.0.1. */
  host?: string;
  /** Default: 0, any free port. */
  port?: number;
  /** Path of the public base URL, which a proxy may leave in or take away. Default: none. */
  pathPrefix?: string;
  /** Callbacks that are worked on at a time; others are answered with 429. Default: 500. */
  maxInFlight?: number;
  /** Longest time for a request to arrive whole. Default: 10 seconds. */
  requestTimeoutMs?: number;
  /** What an operator should know. Never a URL, a key, a nonce or a body. */
  log?: Log;
  /** Default: nobody counts. */
  metrics?: ReceiverMetrics;
}

export interface CallbackReceiver {
  /** Where it listens, without the path prefix. */
  readonly url: string;
  /** Finishes the callbacks under way; new ones are refused. */
  close(): Promise<void>;
}

const maxBodyBytes = 1024 * 1024;
/** Connections that say nothing hold nothing but themselves, up to this number. */
const maxConnections = 5_000;
const quietBetweenComplaintsMs = 10_000;

declare module 'fastify' {
  interface FastifyRequest {
    submission: CallbackSubmission | null;
  }
}

/**
 * Takes the callbacks of conversion services and wakes the jobs they belong to.
 *
 * | Answer | When |
 * |---|---|
 * | 204 | Temporal has accepted the signal, or the job is over or unknown |
 * | 401 | the URL is not one that we signed |
 * | 404, 405 | another path, another method |
 * | 408, 413 | the request does not arrive in time, or is larger than 1 MiB |
 * | 429 | too many callbacks at a time |
 * | 503 | Temporal can't be reached, or the receiver ends: send it again |
 *
 * `GET /healthz` answers 200. Works behind a proxy that keeps its path prefix and behind one that takes it away.
 */
export async function startCallbackReceiver(options: CallbackReceiverOptions): Promise<CallbackReceiver> {
  const { keys, maxInFlight = 500, requestTimeoutMs = 10_000, log = () => undefined } = options;
  const { metrics } = options;
  const signalOnce = createSignalOnce(metrics ? counted(options.signalJob, metrics) : options.signalJob);
  const prefix = (options.pathPrefix ?? '').replace(/\/+$/, '');
  const complain = rarely(log);
  let inFlight = 0;
  let closing = false;

  const server = fastify({
    logger: false,
    bodyLimit: maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    // As long as the head of a request can be: workflow ids may have a thousand characters.
    routerOptions: { maxParamLength: 16_384 },
    http: {
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs / 2),
    },
    // A path that can't be decoded is none of ours.
    frameworkErrors: (_error, _request, reply) => void answer(reply, 404),
  });
  server.server.maxConnections = maxConnections;
  server.decorateRequest('submission', null);
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  // Everything that the head of a request can decide is decided before its body is read.
  server.addHook('onRequest', (request, reply, done) => {
    const status = admit(request);
    if (status === undefined) {
      // Bytes, whatever they claim to be: a claim that can't be read is no reason not to wake the job.
      request.raw.headers['content-type'] = 'application/octet-stream';
      inFlight += 1;
      reply.raw.once('close', () => (inFlight -= 1));
      done();
      return;
    }
    if (status === 405) void reply.header('allow', 'POST');
    void answer(reply, status);
  });
  // A connection that is kept alive would keep the receiver alive too.
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) void reply.header('connection', 'close');
    done();
  });
  metrics?.watch(() => inFlight);
  // Not Fastify's own log, whose lines hold the URL.
  server.addHook('onResponse', ({ submission }, { statusCode: status, elapsedTime }, done) => {
    // The only answer with 200 is that of the health check.
    if (status !== 200) {
      metrics?.answered({ status, seconds: elapsedTime / 1_000 });
      const ofJob = submission ? { workflowId: submission.workflowId } : {};
      log('Callback answered', { level: 'debug', status, durationMs: Math.round(elapsedTime), ...ofJob });
    }
    done();
  });
  server.setErrorHandler((error, _request, reply) => {
    const { statusCode = 500 } = error as { statusCode?: number };
    if (statusCode >= 500) complain(`A callback could not be handled: ${nameOf(error)}.`);
    return answer(reply, statusCode);
  });
  server.post('/*', async ({ submission, body }, reply) => {
    if (!submission) return answer(reply, 404);
    try {
      await signalOnce(submission, Buffer.isBuffer(body) ? readTaskHint(body) : undefined);
    } catch (error) {
      complain(`Temporal did not accept a callback's signal (${nameOf(error)}); answered with 503.`);
      return answer(reply, 503);
    }
    return answer(reply, 204);
  });

  /** The status of a refusal, or of the health check; undefined when this is a callback of ours. */
  function admit(request: FastifyRequest): number | undefined {
    const path = pathOf(request, prefix);
    if (path === '/healthz') return request.method === 'GET' || request.method === 'HEAD' ? 200 : 405;
    const token = /^\/([^/]*\.[^/]*)$/.exec(path)?.[1];
    if (token === undefined) return 404;
    if (request.method !== 'POST') return 405;
    const submission = readCallbackToken(token, keys);
    if (!submission) return 401;
    if (inFlight >= maxInFlight) return 429;
    request.submission = submission;
    return undefined;
  }

  await server.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 });
  return {
    url: serverUrl(server.server.address() as AddressInfo),
    async close() {
      closing = true;
      await server.close();
    },
  };
}

function counted(signalJob: SignalJob, metrics: ReceiverMetrics): SignalJob {
  return async (workflowId, arrival) => {
    try {
      const outcome = await signalJob(workflowId, arrival);
      metrics.signalled(outcome);
      return outcome;
    } catch (error) {
      metrics.signalled('refused');
      throw error;
    }
  };
}

function pathOf({ url }: FastifyRequest, prefix: string): string {
  const path = url.split('?', 1)[0] ?? '';
  return prefix !== '' && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
}

/** The body of an answer repeats nothing of the request. */
function answer(reply: FastifyReply, status: number): FastifyReply {
  if (status === 429 || status === 503) void reply.header('retry-after', '1');
  // The rest of what is refused is not read.
  if (status >= 400) void reply.header('connection', 'close');
  return reply.code(status).send(status === 200 ? { status: 'ok' } : undefined);
}

/** What an error is called. Its message might quote the request. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown error';
}

/** A flood of refused callbacks is one line now and then. */
function rarely(log: Log): (line: string) => void {
  let lastAt = -Infinity;
  return (line) => {
    if (performance.now() - lastAt < quietBetweenComplaintsMs) return;
    lastAt = performance.now();
    log(line, { level: 'warn' });
  };
}
