import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { errors, type Dispatcher } from 'undici';
import type { Endpoint } from '../contract/endpoints';
import { ConversionApiError, type ClientErrorCode } from './errors';

/** One HTTP request and its response: no retries, no redirects. */
export interface ExchangeRequest {
  readonly endpoint: Endpoint;
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: Buffer | Readable;
  readonly headersTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  /** From dispatch to the last byte of the response; 0 or absent: no limit. */
  readonly wholeTimeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ExchangeAnswer {
  readonly httpStatus: number;
  readonly headers: IncomingHttpHeaders;
  /** Fails with a `ConversionApiError`. Must be read to the end or destroyed. */
  readonly body: Readable;
  receivedBytes(): number;
  /** Limits the rest of the body, unless the whole exchange already has a limit; 0: no limit. */
  limitRest(limitMs: number): void;
}

/** Buffer of a response stream: large enough to pass on big chunks, small enough for many streams at once. */
const bufferedBytes = 512 * 1024;

/** Resolves when the response headers have arrived. */
export function exchange(dispatcher: Dispatcher, request: ExchangeRequest): Promise<ExchangeAnswer> {
  return new Promise((resolve, reject) => {
    const handler = new ExchangeHandler(request, resolve, reject);
    const { signal, url } = request;
    if (signal?.aborted) {
      handler.abort(signal.reason);
      return;
    }
    if (signal) handler.listenTo(signal);
    handler.limit(request.wholeTimeoutMs ?? 0);
    dispatcher.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: request.method,
        headers: request.headers,
        body: request.body ?? null,
        headersTimeout: request.headersTimeoutMs,
        bodyTimeout: request.bodyTimeoutMs,
      },
      handler,
    );
  });
}

/** A dispatch handler, unlike undici's `request()`, knows what was sent: `onRequestStart` precedes the first byte. */
class ExchangeHandler implements Dispatcher.DispatchHandler {
  #stopListening: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #body: Readable | undefined;
  #abortion: { reason: unknown } | undefined;
  #receivedBytes = 0;
  #isComplete = false;

  constructor(
    private readonly request: ExchangeRequest,
    private readonly resolve: (answer: ExchangeAnswer) => void,
    private readonly reject: (error: ConversionApiError) => void,
  ) {}

  /** Removed when the exchange is over, so that a long-lived signal does not collect listeners. */
  listenTo(signal: AbortSignal): void {
    const abort = () => this.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#stopListening = () => signal.removeEventListener('abort', abort);
  }

  /** Trickling bytes or interim responses do not extend it. The first limit counts; 0 means none. */
  limit(limitMs: number): void {
    if (limitMs !== 0) this.#timer ??= setTimeout(() => this.#expire(limitMs), limitMs);
  }

  #expire(limitMs: number): void {
    const { endpoint, url } = this.request;
    this.abort(
      new ConversionApiError({
        code: 'REQUEST_TIMEOUT',
        message: `${endpoint}: the answer was not complete within ${(limitMs / 1_000).toFixed(1)} s (${url.origin})`,
        endpoint,
        mayHaveExecuted: this.#controller !== undefined,
      }),
    );
  }

  /** Takes effect at once, even while undici is connecting; `onRequestStart` then refuses to send the request. */
  abort(reason: unknown): void {
    this.#abortion = { reason };
    this.#fail(toError(reason));
    this.#controller?.abort(toError(reason));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#abortion) {
      controller.abort(toError(this.#abortion.reason));
      return;
    }
    if (this.#controller) {
      // undici may re-queue a request when its connection closes. It must not be sent twice.
      controller.abort(new Error('the connection was closed and the request would have been sent again'));
      return;
    }
    this.#controller = controller;
  }

  onResponseStart(controller: Dispatcher.DispatchController, httpStatus: number, headers: IncomingHttpHeaders): void {
    if (httpStatus < 200) return;
    this.#body = new Readable({
      highWaterMark: bufferedBytes,
      read: () => controller.resume(),
      destroy: (error, done) => {
        this.#release();
        // Closes the connection.
        if (!this.#isComplete) controller.abort(error ?? new Error('the answer was not wanted'));
        done(error);
      },
    });
    // The connection may break before the body is read: without a listener the process would end. Readers still fail.
    this.#body.on('error', () => undefined);
    this.resolve({
      httpStatus,
      headers: withSingleValues(headers),
      body: this.#body,
      receivedBytes: () => this.#receivedBytes,
      limitRest: (limitMs) => this.limit(limitMs),
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    if (this.#body?.push(chunk) === false) controller.pause();
  }

  onResponseEnd(): void {
    this.#isComplete = true;
    this.#release();
    this.#body?.push(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#fail(error);
  }

  #release(): void {
    this.#stopListening?.();
    clearTimeout(this.#timer);
  }

  #fail(error: Error): void {
    this.#release();
    const failure = describeFailure(error, {
      endpoint: this.request.endpoint,
      origin: this.request.url.origin,
      sent: this.#controller !== undefined,
      answering: this.#body !== undefined,
      aborted: this.#abortion !== undefined,
    });
    if (this.#body) this.#body.destroy(failure);
    else this.reject(failure);
  }
}

/** undici returns a repeated header as an array, contrary to its types. The first value counts, as in Node. */
function withSingleValues(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const entries = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]);
  return Object.fromEntries(entries) as Record<string, string | undefined>;
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason });
}

interface FailureContext {
  readonly endpoint: Endpoint;
  /** Never the whole URL: the path of a download link may hold a signature. */
  readonly origin: string;
  /** Whether the first byte may have been written. */
  readonly sent: boolean;
  /** Whether the response headers had arrived. */
  readonly answering: boolean;
  readonly aborted: boolean;
}

/** The one place that turns errors from undici and the network into the client's error. */
function describeFailure(error: Error, context: FailureContext): ConversionApiError {
  // The source of an upload, or one of our stream readers, has already classified the failure.
  if (error instanceof ConversionApiError) return error;
  const { endpoint, origin, sent } = context;
  const { code, message } = classify(error, context);
  return new ConversionApiError({
    code,
    message: `${endpoint}: ${message} (${origin})`,
    endpoint,
    mayHaveExecuted: sent,
    // A parser error carries the bytes it could not parse, which may echo the request.
    cause: error instanceof errors.HTTPParserError ? undefined : error,
  });
}

function classify(
  error: Error,
  { sent, answering, aborted }: FailureContext,
): { code: ClientErrorCode; message: string } {
  const reason = codeOf(error);
  if (aborted) {
    const when = sent ? 'under way' : 'before anything was sent';
    return { code: 'REQUEST_ABORTED', message: `aborted ${when}: ${reasonOf(error)}` };
  }
  if (reason === 'UND_ERR_INVALID_ARG') return { code: 'INVALID_REQUEST', message: error.message };
  if (reason === 'UND_ERR_CLOSED' || reason === 'UND_ERR_DESTROYED') {
    return { code: sent ? 'CONNECTION_LOST' : 'REQUEST_ABORTED', message: 'the client was closed' };
  }
  if (!sent) return { code: 'SERVICE_UNREACHABLE', message: `no connection to the service: ${reasonOf(error)}` };
  switch (reason) {
    case 'UND_ERR_HEADERS_TIMEOUT':
      return { code: 'REQUEST_TIMEOUT', message: 'no answer in time' };
    case 'UND_ERR_BODY_TIMEOUT':
      return { code: 'REQUEST_TIMEOUT', message: 'the answer stopped coming' };
    case 'UND_ERR_HEADERS_OVERFLOW':
      return { code: 'UNREADABLE_RESPONSE', message: 'the answer has too many headers' };
  }
  if (error instanceof errors.HTTPParserError)
    return { code: 'UNREADABLE_RESPONSE', message: 'the answer is not HTTP/1.1' };
  const when = answering ? 'in the middle of the answer' : 'before an answer came';
  return { code: 'CONNECTION_LOST', message: `the connection broke ${when}: ${reasonOf(error)}` };
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Node tries every address of a host and then throws an AggregateError with an empty message. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) {
    return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join('; ');
  }
  return error.message || codeOf(error) || error.name;
}
