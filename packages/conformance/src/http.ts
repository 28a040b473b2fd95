import type { IncomingHttpHeaders } from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { Agent, FormData, request } from 'undici';
import { Reply } from './reply';
import type { SampleFile } from './target';
import { Undecided } from './verdict';

/** Raw HTTP: our own client, which forgives some mistakes, is not involved. */

export interface RawRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the base URL, without a slash in front. */
  readonly path: string;
  /** Undefined: no Authorization header. */
  readonly authorization: string | undefined;
  readonly body?: FormData | URLSearchParams | string | undefined;
  readonly contentType?: string;
  /** Send now, and take a 429 for the answer. */
  readonly unpaced?: boolean;
}

const timeoutMs = 120_000;
const maxAttempts = 5;

/** Requests to one service, which honour its rate limits as section "Limits" asks of a client. */
export class RawHttp {
  readonly #baseUrl: string;
  readonly #maxWaitSeconds: number;
  readonly #agent = new Agent({ headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  readonly #closing = new AbortController();
  /** When a path may be requested again with an authorization, in milliseconds since 1970. */
  readonly #nextAt = new Map<string, number>();

  constructor(baseUrl: string, maxWaitSeconds: number) {
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#maxWaitSeconds = maxWaitSeconds;
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

  /** Ends requests and waits in progress. */
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
    return new Reply(answer.statusCode, answer.headers, Buffer.from(await answer.body.arrayBuffer()));
  }

  async #waitUntil(at: number, path: string): Promise<void> {
    const waitMs = at - Date.now();
    if (waitMs <= 0) return;
    if (waitMs > this.#maxWaitSeconds * 1_000) {
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

/** Sends a head of HTTP/1.1 that no library would send, and reads the answer to the end of its connection or of its body. */
export async function exchangeRaw(baseUrl: string, makeHead: (target: { path: string; host: string }) => string) {
  const { protocol, hostname, port, host, pathname } = new URL(baseUrl);
  const name = hostname.replace(/^\[|\]$/g, '');
  const socket =
    protocol === 'https:'
      ? tls.connect({ host: name, port: Number(port || 443), servername: name, ALPNProtocols: ['http/1.1'] })
      : net.connect({ host: name, port: Number(port || 80) });
  socket.setTimeout(rawTimeoutMs, () => socket.destroy());
  socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () =>
    socket.write(makeHead({ path: pathname.replace(/\/$/, ''), host }), 'latin1'),
  );
  let received = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (isWhole(received)) socket.destroy();
  });
  await new Promise((resolve) => socket.once('close', resolve));
  return parseReply(received);
}

function isWhole(received: Buffer): boolean {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const head = received.toString('latin1', 0, end);
  if (isChunked(head))
    return received
      .subarray(end + 4)
      .toString('latin1')
      .endsWith('0\r\n\r\n');
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  return length !== undefined && received.length >= end + 4 + Number(length);
}

function isChunked(head: string): boolean {
  return /^transfer-encoding: *chunked/im.test(head);
}

/** The body behind its chunk sizes. */
function joinChunks(chunked: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < chunked.length;) {
    const lineEnd = chunked.indexOf('\r\n', at);
    const size = Number.parseInt(chunked.toString('latin1', at, lineEnd), 16);
    if (lineEnd === -1 || !(size > 0)) break;
    chunks.push(chunked.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(chunks);
}

function parseReply(received: Buffer): Reply {
  const end = received.indexOf('\r\n\r\n');
  const head = received.toString('latin1', 0, Math.max(0, end));
  const [first = '', ...lines] = head.split('\r\n');
  const status = /^HTTP\/1\.\d (\d{3})/.exec(first)?.[1];
  if (status === undefined) throw new Undecided('the connection was closed without an answer');
  const headers: IncomingHttpHeaders = {};
  for (const line of lines) {
    const [name = '', ...value] = line.split(':');
    headers[name.toLowerCase()] = value.join(':').trim();
  }
  const body = received.subarray(end + 4);
  return new Reply(Number(status), headers, isChunked(head) ? joinChunks(body) : body);
}
