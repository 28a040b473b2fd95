import type { Readable } from 'node:stream';
import type { Agent } from 'undici';
import type { Endpoint, RequestData } from '../contract/endpoints';
import { createServiceAddress, type ServiceAddress } from './address';
import { readAnswer, type ReadAnswer } from './answer';
import type { ApiTimeouts, ConversionApiOptions, RequestObserver, RequestOptions, RequestTurn } from './conversion-api';
import { type ClientErrorCode, ConversionApiError, isClientErrorCode, unreadableAnswer } from './errors';
import { exchange, type ExchangeAnswer, type ExchangeRequest } from './exchange';
import { frameData } from './multipart';
import { packageVersion } from './package-version';
import { createAgent } from '../network/proxy';
import { peek } from '../storage/peek';
import { createQuote, type Quote } from './quote';
import { readRateHeaders, readRetryAfter } from './rate-limit/headers';
import { type Permit, RateGate, RateLimitWaitError, type Turn } from './rate-limit/rate-gate';
import { fixedToken, isSendable, type IssuedToken, type TokenSource } from './token-source';

/** A request to one of the service's own URLs. */
interface Posting extends RequestOptions {
  readonly endpoint: Endpoint;
  /** Default: the endpoint's URL. */
  readonly url?: URL;
  readonly contentType: string;
  readonly body: Buffer | Readable;
  /** Required for a streamed body. */
  readonly contentLength?: number;
  /** Default: `timeouts.headersMs`. */
  readonly headersTimeoutMs?: number | undefined;
  /** From dispatch to the last byte of the response, but no later than `turn.answerByMs`. Default: no limit. */
  readonly wholeTimeoutMs?: number | undefined;
}

/** A request whose turn has come. */
interface Prepared {
  readonly permit: Permit;
  readonly token: IssuedToken;
}

/** The answer to a request with the token. */
export interface ServiceAnswer extends ExchangeAnswer {
  /** See `TokenSource.refused`. */
  readonly tokenRefused: () => Promise<boolean>;
}

/** Without `accept-encoding` a service may send any encoding. */
const asking = {
  accept: '*/*',
  'accept-encoding': 'identity',
  'user-agent': `temporal-file-conversion/${packageVersion()}`,
};

const defaultTimeouts: ApiTimeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000, stallMs: 60_000 };

/** The largest JSON response that is read; the longest known, a list of formats, takes about 100 KiB. */
const maxAnswerBytes = 16 * 1024 * 1024;
/** Longer delays overflow Node's timers. */
const maxTimerMs = 2 ** 31 - 1;
/** Requests for other files wait at most this long for the RETRY-AFTER of a 503. */
const maxHoldSeconds = 60;
/** An error page is only quoted from. */
const maxRefusalBytes = 64 * 1024;

export class ServiceConnection {
  readonly appId: string;
  readonly address: ServiceAddress;
  readonly timeouts: ApiTimeouts;
  readonly quote: Quote;
  readonly #token: TokenSource;
  readonly #agent: Agent;
  readonly #gate: RateGate;
  readonly observer: RequestObserver | undefined;
  /** Requests between the call and their first byte. */
  readonly #preparing = new Set<Promise<Prepared>>();
  #underWay = 0;
  #closing: Promise<void> | undefined;

  constructor({ baseUrl, appId, token, timeouts, rateMemory, observer }: ConversionApiOptions) {
    this.observer = observer;
    this.#gate = new RateGate({ memory: rateMemory });
    this.appId = appId;
    this.address = createServiceAddress(baseUrl);
    this.timeouts = { ...defaultTimeouts, ...timeouts };
    this.#token = typeof token === 'string' ? fixedToken(token) : token;
    this.quote = createQuote(this.#token);
    this.#agent = createAgent({
      // One request at a time per connection, so that a failure belongs to exactly one request.
      pipelining: 1,
      connect: { timeout: this.timeouts.connectMs },
    });
  }

  /** Sends a request without a file and reads its JSON response, all within one time limit. */
  async call(
    endpoint: Endpoint,
    data: Omit<RequestData, 'app'>,
    { answersWhenDone = false, ...options }: RequestOptions & { answersWhenDone?: boolean },
  ): Promise<ReadAnswer> {
    const frame = frameData({ app: this.appId, ...data });
    const limits =
      answersWhenDone && options.turn?.answerByMs !== undefined
        ? { headersTimeoutMs: 0, wholeTimeoutMs: Infinity }
        : { wholeTimeoutMs: wholeTimeoutOf(this.timeouts) };
    return this.readTaskResponse(endpoint, await this.post({ endpoint, ...frame, ...limits, ...options }));
  }

  async post({
    endpoint,
    url = this.address.endpointUrl(endpoint),
    contentType,
    contentLength,
    body,
    headersTimeoutMs = this.timeouts.headersMs,
    wholeTimeoutMs,
    signal,
    turn,
  }: Posting): Promise<ServiceAnswer> {
    const preparing = this.#prepare(endpoint, { signal, ...turn });
    this.#preparing.add(preparing);
    let prepared;
    try {
      prepared = await preparing;
    } finally {
      this.#preparing.delete(preparing);
    }
    const { permit, token } = prepared;
    const headers: Record<string, string> = {
      ...asking,
      authorization: `Bearer ${token.text}`,
      'content-type': contentType,
    };
    if (contentLength !== undefined) headers['content-length'] = String(contentLength);
    let answer;
    try {
      answer = await this.#exchange({
        endpoint,
        url,
        method: 'POST',
        headers,
        body,
        headersTimeoutMs,
        bodyTimeoutMs: this.timeouts.bodyMs,
        ...(wholeTimeoutMs !== undefined && { wholeTimeoutMs: leftOf(wholeTimeoutMs, turn?.answerByMs) }),
        signal,
      });
    } catch (error) {
      if (error instanceof ConversionApiError && !error.mayHaveExecuted) permit.unsent();
      else permit.lost();
      throw error;
    }
    permit.answered(readRateHeaders(answer.httpStatus, answer.headers));
    if (answer.httpStatus === 503) {
      // A 503 is not part of the document, so it holds back other requests only for a while.
      const pauseSeconds = readRetryAfter(answer.headers) ?? 0;
      if (pauseSeconds > 0) this.#gate.block(endpoint, Math.min(pauseSeconds, maxHoldSeconds));
    }
    return { ...answer, tokenRefused: () => this.#token.refused(token.version) };
  }

  /** Fetches without the token or App ID, for example from a storage host. */
  getAnonymously(endpoint: Endpoint, url: URL, signal: AbortSignal | undefined): Promise<ExchangeAnswer> {
    return this.#exchange({
      endpoint,
      url,
      method: 'GET',
      headers: asking,
      headersTimeoutMs: this.timeouts.headersMs,
      bodyTimeoutMs: this.timeouts.bodyMs,
      signal,
    });
  }

  async readTaskResponse(endpoint: Endpoint, answer: ServiceAnswer): Promise<ReadAnswer> {
    const text = await this.readText(endpoint, answer);
    const { httpStatus, headers, tokenRefused } = answer;
    try {
      return readAnswer({ endpoint, httpStatus, headers, text, tokenRefused }, this.quote);
    } catch (error) {
      // The gate has only seen the headers, so it does not know a wait that is given in the error message alone.
      if (error instanceof ConversionApiError && answer.httpStatus === 429 && error.retryAfterSeconds !== undefined) {
        this.#gate.block(endpoint, error.retryAfterSeconds);
      }
      throw error;
    }
  }

  /** The whole body of a success, or the beginning of any other body. */
  async readText(endpoint: Endpoint, answer: ExchangeAnswer): Promise<string> {
    const { httpStatus, body } = answer;
    answer.limitRest(this.timeouts.bodyMs);
    const succeeded = httpStatus >= 200 && httpStatus < 300;
    const limit = succeeded ? maxAnswerBytes : maxRefusalBytes;
    try {
      const { head, isWhole } = await peek(body, (seen) => seen.length > limit);
      if (!isWhole) body.destroy();
      if (succeeded && !isWhole) {
        throw unreadableAnswer(endpoint, `the answer is longer than ${maxAnswerBytes} bytes`, { httpStatus });
      }
      return head.toString('utf8');
    } catch (error) {
      // For a refusal the status is enough, even if its explanation was cut off.
      if (succeeded) throw error;
      return '';
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#gate.close(new Error('the client was closed'));
    await Promise.allSettled(this.#preparing);
    // undici's `close` alone would also wait for a connection that an aborted request no longer needs.
    await (this.#underWay === 0 ? this.#agent.destroy() : this.#agent.close());
  }

  async #prepare(endpoint: Endpoint, turn: RequestTurn): Promise<Prepared> {
    const permit = await this.#enter(endpoint, turn);
    try {
      const token = await this.#token.current();
      // Checked here because the error from undici or Node could quote the token.
      if (!isSendable(token.text)) throw unsendable(endpoint, token);
      await turn.beforeSend?.();
      return { permit, token };
    } catch (error) {
      permit.unsent();
      throw error;
    }
  }

  async #enter(endpoint: Endpoint, turn: Turn): Promise<Permit> {
    const cameAt = performance.now();
    try {
      return await this.#gate.enter(endpoint, turn);
    } catch (error) {
      if (error instanceof RateLimitWaitError) throw asApiError(endpoint, error);
      const { origin } = this.address.endpointUrl(endpoint);
      const reason = this.#closing ? 'the client was closed' : 'aborted before anything was sent';
      const message = `${endpoint}: ${reason} (${origin})`;
      throw new ConversionApiError({
        code: 'REQUEST_ABORTED',
        message,
        endpoint,
        mayHaveExecuted: false,
        cause: error,
      });
    } finally {
      this.observer?.waited({ endpoint, seconds: secondsSince(cameAt) });
    }
  }

  async #exchange(request: ExchangeRequest): Promise<ExchangeAnswer> {
    this.#underWay += 1;
    const end = (): void => {
      this.#underWay -= 1;
    };
    const { endpoint } = request;
    const startedAt = performance.now();
    const answered = (status: number | ClientErrorCode): void => {
      this.observer?.answered({ endpoint, status, seconds: secondsSince(startedAt) });
    };
    try {
      const answer = await exchange(this.#agent, request);
      answered(answer.httpStatus);
      answer.body.once('close', end);
      return answer;
    } catch (error) {
      const code = clientCodeOf(error);
      if (code !== undefined) answered(code);
      end();
      throw error;
    }
  }
}

function unsendable(endpoint: Endpoint, { text }: IssuedToken): ConversionApiError {
  return new ConversionApiError({
    code: 'INVALID_REQUEST',
    message: `${endpoint}: the app token ${text === '' ? 'is empty' : 'holds characters that no HTTP header can carry'}`,
    endpoint,
    mayHaveExecuted: false,
  });
}

/** If any of the three parts has no limit, the whole has none. */
function wholeTimeoutOf({ connectMs, headersMs, bodyMs }: ApiTimeouts): number {
  return [connectMs, headersMs, bodyMs].includes(0) ? Infinity : connectMs + headersMs + bodyMs;
}

function leftOf(wholeTimeoutMs: number, answerByMs = Infinity): number {
  const limitMs = Math.min(wholeTimeoutMs, Math.max(1, answerByMs - performance.now()));
  return limitMs > maxTimerMs ? 0 : limitMs;
}

function clientCodeOf(error: unknown): ClientErrorCode | undefined {
  return error instanceof ConversionApiError && isClientErrorCode(error.code) ? error.code : undefined;
}

function secondsSince(momentMs: number): number {
  return (performance.now() - momentMs) / 1_000;
}

function asApiError(endpoint: Endpoint, { message, retryAfterMs }: RateLimitWaitError): ConversionApiError {
  return new ConversionApiError({
    code: 'RATE_LIMIT_WAIT',
    message: `${endpoint}: ${message}`,
    endpoint,
    mayHaveExecuted: false,
    retryAfterSeconds: retryAfterMs / 1_000,
  });
}
