import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Endpoint } from '../contract/endpoints';
import type { ConversionApiError } from './errors';
import { describeFailure, incomplete } from './failure';

/** One HTTP request and its answer: no retries, no redirects. */
export interface ExchangeRequest {
  readonly endpoint: Endpoint;
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: Buffer | Readable;
  readonly headersTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  /** For all of it, from here to the last byte of the answer; 0: no limit. */
  readonly wholeTimeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ExchangeAnswer {
  readonly httpStatus: number;
  readonly headers: IncomingHttpHeaders;
  /** Fails with a `ConversionApiError`. Must be read to its end or destroyed. */
  readonly body: Readable;
  /** Of the body, so far. */
  receivedBytes(): number;
  /** From now on the rest of the body may take so long, unless the whole exchange has a limit; 0: any time. */
  limitRest(limitMs: number): void;
}

/** What an answer's stream buffers. Large enough to hand on big chunks, small enough for many streams at once. */
const bufferedBytes = 512 * 1024;

/** Resolves when the answer's headers are in. */
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

/**
 * undici's own `request()` does not tell whether a failed request was written to a connection. A handler is told:
 * `onRequestStart` runs right before the first byte is written, and only then.
 */
class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #request: ExchangeRequest;
  readonly #resolve: (answer: ExchangeAnswer) => void;
  readonly #reject: (error: ConversionApiError) => void;
  #stopListening: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #body: Readable | undefined;
  #abortion: { reason: unknown } | undefined;
  #receivedBytes = 0;

  constructor(
    request: ExchangeRequest,
    resolve: (answer: ExchangeAnswer) => void,
    reject: (error: ConversionApiError) => void,
  ) {
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Until the exchange is over, so that a long-lived signal keeps no listener of it. */
  listenTo(signal: AbortSignal): void {
    const abort = () => this.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#stopListening = () => signal.removeEventListener('abort', abort);
  }

  /** Neither a trickle of bytes nor one of interim answers makes it longer. The first limit counts; 0 is none. */
  limit(limitMs: number): void {
    if (limitMs !== 0) this.#timer ??= setTimeout(() => this.#expire(limitMs), limitMs);
  }

  #expire(limitMs: number): void {
    const { endpoint, url } = this.#request;
    this.abort(incomplete({ endpoint, origin: url.origin, limitMs, sent: this.#controller !== undefined }));
  }

  /** Takes effect at once, also while undici still connects; then the request is refused when its turn comes. */
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
      // undici puts a request back in line when its connection closes in certain ways. It must not be sent twice.
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
        // Without effect when the answer is complete; ends the connection otherwise.
        controller.abort(error ?? new Error('the answer was not wanted'));
        done(error);
      },
    });
    // The connection may break before anybody reads; without a listener that would end the process. Readers still fail.
    this.#body.on('error', () => undefined);
    this.#resolve({
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
      endpoint: this.#request.endpoint,
      origin: this.#request.url.origin,
      sent: this.#controller !== undefined,
      answering: this.#body !== undefined,
      aborted: this.#abortion !== undefined,
    });
    if (this.#body) this.#body.destroy(failure);
    else this.#reject(failure);
  }
}

/**
 * A header that stands twice comes from undici as a list, which the type of the headers does not say. The first value counts, as
 * it does in Node for headers that may stand once only.
 */
function withSingleValues(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const entries = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]);
  return Object.fromEntries(entries) as Record<string, string | undefined>;
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason });
}
