import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { z } from 'zod';
import type { CallbackArrival, CallbackSubmission } from '../job/types';
import type { Log } from '../messages/log';
import { conversionCallbackSignal } from '../job/names';
import { readCallbackToken, type CallbackKeys } from './callback-url';

export interface ReceiverMetrics {
  /** `inFlight` returns the number of callbacks in progress, and may be called at any time. */
  watch(inFlight: () => number): void;
  answered(answer: { status: number; seconds: number }): void;
  /** Temporal's response to a signal; `refused`: it was unreachable, or rejected the signal. */
  signalled(outcome: 'accepted' | 'jobOver' | 'refused'): void;
}

export interface CallbackReceiverOptions {
  keys: CallbackKeys;
  signalJob: SignalJob;
  /** Default: 127.0.0.1. */
  host?: string;
  /** Default: 0, any free port. */
  port?: number;
  /** Path of the public base URL, whether or not a proxy strips it. Default: none. */
  pathPrefix?: string;
  /** Maximum number of callbacks in progress; others are answered with 429. Default: 500. */
  maxInFlight?: number;
  /** Time limit for receiving a whole request. Default: 10 seconds. */
  requestTimeoutMs?: number;
  /** Receives messages for operators; never a URL, a key, a nonce or a body. */
  log?: Log;
  /** Default: no metrics. */
  metrics?: ReceiverMetrics;
}

export interface CallbackReceiver {
  /** Listening address, without the path prefix. */
  readonly url: string;
  /**
   * Waits up to `ms` for the callback of a submit, which may also have come in the last seconds; false: none came. A callback that ends
   * the wait sends no signal, since the waiting step polls the service itself. Rejects when `signal` aborts.
   */
  comes(submission: CallbackSubmission, ms: number, signal: AbortSignal): Promise<boolean>;
  /** Finishes the callbacks in progress; new ones are refused. */
  close(): Promise<void>;
}

const maxBodyBytes = 1024 * 1024;
/** Limit on connections, including idle ones, which cost little. */
const maxConnections = 5_000;
const quietBetweenComplaintsMs = 10_000;

/**
 * Receives the callbacks of conversion services and wakes their jobs.
 *
 * | Answer | When |
 * |---|---|
 * | 204 | Temporal has accepted the signal, the job is over or unknown, or its submit waits here |
 * | 401 | the URL is not signed by us |
 * | 404, 405 | another path, another method |
 * | 408, 413 | the request does not arrive in time, or is larger than 1 MiB |
 * | 429 | too many callbacks in progress |
 * | 503 | Temporal can't be reached, or the receiver is closing: retry |
 *
 * `GET /healthz` answers 200. Works behind proxies that keep or strip the path prefix.
 */
export async function startCallbackReceiver(options: CallbackReceiverOptions): Promise<CallbackReceiver> {
  const { keys, maxInFlight = 500, requestTimeoutMs = 10_000, log = () => undefined } = options;
  const { metrics } = options;
  const arrivals = new Arrivals(metrics ? counted(options.signalJob, metrics) : options.signalJob);
  const prefix = (options.pathPrefix ?? '').replace(/\/+$/, '');
  const complain = rarely(log);
  let inFlight = 0;
  let closing = false;

  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs / 2),
    },
    (request, response) => {
      const receivedAt = performance.now();
      // Decides as much as possible before the body is read.
      const admitted = admit(request);
      const submission = typeof admitted === 'number' ? undefined : admitted;
      response.once('close', () => {
        if (submission) inFlight -= 1;
        endIdle();
        observe(response.statusCode, performance.now() - receivedAt, submission);
      });
      if (typeof admitted === 'number') {
        if (admitted === 405) response.setHeader('allow', 'POST');
        answer(response, admitted);
        return;
      }
      inFlight += 1;
      handle(request, admitted).then(
        (status) => answer(response, status),
        (error: unknown) => {
          // A client that disconnected early gets no response.
          if (!request.complete) response.destroy();
          else answer(response, 500);
          if (request.complete) complain(`A callback could not be handled: ${nameOf(error)}.`);
        },
      );
    },
  );
  server.maxConnections = maxConnections;
  metrics?.watch(() => inFlight);

  /** Returns the submission of a valid callback, or the status of a refusal or health check. */
  function admit(request: IncomingMessage): number | CallbackSubmission {
    const path = pathOf(request, prefix);
    if (path === '/healthz') return request.method === 'GET' || request.method === 'HEAD' ? 200 : 405;
    const token = /^\/([^/]*\.[^/]*)$/.exec(path)?.[1];
    if (token === undefined) return 404;
    if (request.method !== 'POST') return 405;
    const submission = readCallbackToken(token, keys);
    if (!submission) return 401;
    if (closing) return 503;
    return inFlight >= maxInFlight ? 429 : submission;
  }

  /** Node does not limit how long open connections of a closing server may take to send a request. */
  function endIdle(): void {
    if (closing && inFlight === 0) server.closeAllConnections();
  }

  async function handle(request: IncomingMessage, submission: CallbackSubmission): Promise<number> {
    const body = await readBody(request);
    if (!body) return 413;
    try {
      await arrivals.take(submission, readTaskHint(body));
    } catch (error) {
      complain(`Temporal did not accept a callback's signal (${nameOf(error)}); answered with 503.`);
      return 503;
    }
    return 204;
  }

  function observe(status: number, elapsedMs: number, submission: CallbackSubmission | undefined): void {
    // Skips health checks, the only requests answered with 200.
    if (status === 200) return;
    metrics?.answered({ status, seconds: elapsedMs / 1_000 });
    const ofJob = submission ? { workflowId: submission.workflowId } : {};
    log('Callback answered', { level: 'debug', status, durationMs: Math.round(elapsedMs), ...ofJob });
  }

  /** The response body never repeats any part of the request. */
  function answer(response: ServerResponse, status: number): void {
    if (status === 429 || status === 503) response.setHeader('retry-after', '1');
    // The rest of a refused request is not read, and a keep-alive connection would delay `close`.
    if (status >= 400 || closing) response.setHeader('connection', 'close');
    if (status === 200) response.setHeader('content-type', 'application/json');
    response.writeHead(status).end(status === 200 ? '{"status":"ok"}' : undefined);
  }

  server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  return {
    url: serverUrl(server.address() as AddressInfo),
    comes: (submission, ms, signal) => arrivals.comes(submission, ms, signal),
    async close() {
      closing = true;
      const closed = once(server, 'close');
      server.close();
      endIdle();
      const cut = setTimeout(() => server.closeAllConnections(), requestTimeoutMs);
      await closed;
      clearTimeout(cut);
    },
  };
}

/** Undefined if the body exceeds `maxBodyBytes`. Ignores the content type. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length']) > maxBodyBytes) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
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

function pathOf({ url }: IncomingMessage, prefix: string): string {
  const path = url?.split('?', 1)[0] ?? '';
  return prefix !== '' && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
}

/** Only the error's name: its message may quote the request. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown error';
}

/** Limits the log to one line per interval. */
function rarely(log: Log): (line: string) => void {
  let lastAt = -Infinity;
  return (line) => {
    if (performance.now() - lastAt < quietBetweenComplaintsMs) return;
    lastAt = performance.now();
    log(line, { level: 'warn' });
  };
}

const id = z.guid().toLowerCase();
const bodySchema = z.looseObject({
  entity: z.looseObject({ id }).optional().catch(undefined),
  result: z
    .looseObject({ output: z.looseObject({ connector: id }).optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

/**
 * The task id in a callback's body, at the place where the document's responses have it. The body is neither documented nor signed: the
 * id is only a hint for a job without one, and the rest is discarded.
 */
function readTaskHint(body: Buffer): string | undefined {
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
  const { data } = bodySchema.safeParse(json);
  return data?.entity?.id ?? data?.result?.output?.connector;
}

/** Puts an IPv6 address in brackets. */
function serverUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** Wakes a job: resolves once Temporal has accepted the signal, or reported that the job has ended. */
export type SignalJob = (workflowId: string, arrival: CallbackArrival) => Promise<'accepted' | 'jobOver'>;

/** @param timeoutMs for one signal, after which Temporal counts as unreachable. */
export function createSignalJob(client: Client, timeoutMs = 10_000): SignalJob {
  return async (workflowId, arrival) => {
    try {
      await client.withDeadline(Date.now() + timeoutMs, () =>
        client.workflow.getHandle(workflowId).signal(conversionCallbackSignal, arrival),
      );
      return 'accepted';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'jobOver';
      throw error;
    }
  };
}

type Outcome = ReturnType<SignalJob>;

const rememberedForMs = 10_000;
const maxRemembered = 10_000;

/**
 * Deduplicates the callbacks of a submit that arrive within seconds, so that a thousand of them add one event to the job's history. A
 * callback with a task id is no duplicate of one without.
 */
class Arrivals {
  private readonly recent = new Map<string, { at: number; outcome: Outcome }>();
  private readonly awaited = new Map<string, AbortController>();

  constructor(private readonly signalJob: SignalJob) {}

  take(submission: CallbackSubmission, taskId: string | undefined): Outcome {
    this.forgetOld();
    const submit = keyOf(submission);
    const awaited = this.awaited.get(submit);
    awaited?.abort();
    const key = `${taskId === undefined ? 'plain' : 'hint'} ${submit}`;
    const known = this.recent.get(key);
    if (known) return known.outcome;
    const { workflowId, nonce } = submission;
    const at = Date.now();
    const arrival: CallbackArrival = { nonce, arrivedAt: at, ...(taskId !== undefined && { taskId }) };
    const outcome = awaited ? Promise.resolve('accepted' as const) : this.signalJob(workflowId, arrival);
    this.recent.set(key, { at, outcome });
    // After a failure, the next callback must signal again.
    outcome.catch(() => this.recent.delete(key));
    return outcome;
  }

  /** See `CallbackReceiver.comes`. */
  async comes(submission: CallbackSubmission, ms: number, signal: AbortSignal): Promise<boolean> {
    const submit = keyOf(submission);
    if (this.recent.has(`plain ${submit}`) || this.recent.has(`hint ${submit}`)) return true;
    const call = new AbortController();
    this.awaited.set(submit, call);
    try {
      await sleep(ms, undefined, { signal: AbortSignal.any([signal, call.signal]) });
    } catch (error) {
      if (!call.signal.aborted) throw error;
    } finally {
      this.awaited.delete(submit);
    }
    return call.signal.aborted;
  }

  private forgetOld(): void {
    for (const [key, { at }] of this.recent) {
      if (this.recent.size <= maxRemembered && Date.now() - at < rememberedForMs) return;
      this.recent.delete(key);
    }
  }
}

function keyOf({ workflowId, nonce }: CallbackSubmission): string {
  return `${nonce} ${workflowId}`;
}
