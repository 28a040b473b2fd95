import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAgent } from 'temporal-file-conversion/network';
import { FormData, request } from 'undici';
import { Reply } from './reply';
import type { SampleFile } from './target';
import { Undecided } from './verdict';

/** Raw HTTP, because our own client forgives some mistakes. */

export interface RawRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS';
  /** Relative to the base URL, without a leading slash. */
  readonly path: string;
  /** Undefined: no Authorization header. */
  readonly authorization: string | undefined;
  readonly body?: FormData | URLSearchParams | string | undefined;
  readonly contentType?: string;
  /** Does not wait for the rate limit; a 429 is then the answer. */
  readonly unpaced?: boolean;
}

const timeoutMs = 120_000;
const maxAttempts = 5;

/** Longest wait that the service may ask for before a request is given up. */
const maxWaitMs = 120_000;

/** Requests to one service, which honour its rate limits as section "Limits" asks of a client. */
export class RawHttp {
  readonly #baseUrl: string;
  readonly #hide: (text: string) => string;
  readonly #agent = createAgent({ connect: { timeout: 10_000 }, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  readonly #closing = new AbortController();
  /** When a path may be requested again with an authorization, in milliseconds since 1970. */
  readonly #nextAt = new Map<string, number>();

  /** @param hide masks the secrets that a service may echo. */
  constructor(baseUrl: string, hide: (text: string) => string) {
    this.#hide = hide;
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
  }

  async send(asked: RawRequest): Promise<Reply> {
    if (asked.unpaced === true) return this.#exchange(asked);
    const lane = `${asked.authorization ?? ''} ${asked.path}`;
    for (let attempt = 1; ; attempt += 1) {
      await this.#waitUntil(this.#nextAt.get(lane) ?? 0, asked.path);
      const reply = await this.#exchange(asked);
      const waitSeconds = waitOf(reply);
      if (waitSeconds > 0) this.#nextAt.set(lane, Date.now() + waitSeconds * 1_000);
      if (reply.status !== 429 || waitSeconds === 0 || attempt === maxAttempts) return reply;
    }
  }

  /** Aborts requests and waits in flight. */
  close(): Promise<void> {
    this.#closing.abort();
    return this.#agent.destroy();
  }

  async #exchange({ method = 'POST', path, authorization, body, contentType }: RawRequest): Promise<Reply> {
    const isText = body instanceof URLSearchParams || typeof body === 'string';
    const type = contentType ?? (body instanceof URLSearchParams ? 'application/x-www-form-urlencoded' : undefined);
    const answer = await request(`${this.#baseUrl}/${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        ...(authorization !== undefined && { authorization }),
        ...(type !== undefined && { 'content-type': type }),
      },
      body: isText ? String(body) : (body ?? null),
    });
    return new Reply(answer.statusCode, answer.headers, Buffer.from(await answer.body.arrayBuffer()), this.#hide);
  }

  async #waitUntil(at: number, path: string): Promise<void> {
    const waitMs = at - Date.now();
    if (waitMs <= 0) return;
    if (waitMs > maxWaitMs) {
      throw new Undecided(`the rate limit of ${path} asks for a wait of ${Math.ceil(waitMs / 1_000)} s`);
    }
    await sleep(waitMs, undefined, { signal: this.#closing.signal });
  }
}

/** Seconds that the service asks a client to wait after this answer; RETRY-AFTER has priority. */
function waitOf(reply: Reply): number {
  if (reply.status === 429)
    return seconds(reply.header('retry-after')) ?? seconds(reply.header('x-ratelimit-reset')) ?? 0;
  return reply.header('x-ratelimit-remaining') === '0' ? (seconds(reply.header('x-ratelimit-reset')) ?? 0) : 0;
}

function seconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d+$/.test(header) ? Number(header) : undefined;
}

/** A form as the document describes it: the field `data`, and the file of an upload. */
export function createForm(data: string | undefined, file?: SampleFile): FormData {
  const form = new FormData();
  if (data !== undefined) form.set('data', data);
  if (file) form.set('file', new Blob([new Uint8Array(file.bytes)]), file.name);
  return form;
}

const rawTimeoutMs = 20_000;

/** Sends an HTTP/1.1 head that no library would send, and reads the answer. */
export async function exchangeRaw(
  baseUrl: string,
  makeHead: (target: { path: string; host: string }) => string,
): Promise<Reply> {
  const url = new URL(baseUrl);
  const { protocol, host, pathname } = url;
  // Used for its connection and its parser; its own head is never sent.
  const opened = (protocol === 'https:' ? https : http).request(url, { agent: false, timeout: rawTimeoutMs });
  opened.once('socket', (socket) => socket.write(makeHead({ path: pathname.replace(/\/$/, ''), host }), 'latin1'));
  opened.once('timeout', () => opened.destroy());
  // The connection may also break after the answer has arrived.
  opened.on('error', () => undefined);
  try {
    const [answer] = (await once(opened, 'response')) as [http.IncomingMessage];
    return new Reply(answer.statusCode ?? 0, answer.headers, await buffer(answer));
  } catch (error) {
    throw new Undecided('the connection was closed without an answer', { cause: error });
  } finally {
    opened.destroy();
  }
}
