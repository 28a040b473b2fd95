import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Where a service stops the jobs that come to it. */
export type HoldPoint =
  /** Nobody may upload for a while, as the one learns that still could. */
  | 'inLine'
  /** No answer to an upload, a submit, the last of a few polls; half of a download. */
  | 'uploading'
  | 'submitting'
  | 'polling'
  | 'downloading'
  /** The conversion continues until its callback. */
  | 'callback'
  /** Too few vCredits. */
  | 'parked';

/** A conversion service in this process that answers all at once, but for the time in which it holds every job that comes to one point. */
export interface HeldService {
  readonly baseUrl: string;
  /** Jobs that have come to its point; of those in line the rate limit knows. */
  readonly held: number;
  /** Callback URLs of the conversions that continue. */
  readonly callbackUrls: readonly string[];
  hold(): void;
  release(): void;
  close(): Promise<void>;
}

const converted = Buffer.from('PK result');
const pollsBeforeHold = 8;
const limitWindowSeconds = 5;

export async function startHeldService(point: HoldPoint): Promise<HeldService> {
  const service = new Held(point);
  await service.listen();
  return service;
}

class Held implements HeldService {
  held = 0;
  readonly callbackUrls: string[] = [];
  private isHolding = false;
  private readonly polls = new Map<string, number>();
  private readonly server = createServer((incoming, response) => void this.answer(incoming, response));

  constructor(private readonly point: HoldPoint) {}

  async listen(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  hold(): void {
    this.isHolding = true;
  }

  release(): void {
    this.isHolding = false;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const form = Buffer.concat(chunks).toString('latin1');
    const field = (name: string) => new RegExp(`"${name}":"([^"]+)"`).exec(form)?.[1];
    switch (incoming.url) {
      case '/v1/upload/file':
        if (this.holds('uploading')) return;
        if (this.isAt('inLine')) {
          response.setHeader('x-ratelimit-limit', 1_000);
          response.setHeader('x-ratelimit-remaining', 0);
          response.setHeader('x-ratelimit-reset', limitWindowSeconds);
        }
        sendOutput(response, { connector: randomUUID(), size: 1 });
        return;
      case '/v1/convert/file':
        this.submit(response, field('callback'));
        return;
      case '/v1/task/response':
        this.poll(response, field('connector') ?? '');
        return;
      case '/v1/download/url':
        sendOutput(response, { connector: randomUUID(), name: 'a.pdf', size: converted.length });
        return;
      default:
        response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': converted.length });
        if (this.holds('downloading')) response.write(converted.subarray(0, 3));
        else response.end(converted);
    }
  }

  private submit(response: ServerResponse, callbackUrl: string | undefined): void {
    if (this.holds('submitting')) return;
    if (this.holds('parked')) {
      const error = { code: 'INSUFFICIENT_VCREDITS', message: 'Too few vCredits.' };
      send(response, 403, { result: { output: {}, error, warning: {} } });
      return;
    }
    if (this.holds('callback') && callbackUrl !== undefined) this.callbackUrls.push(callbackUrl);
    send(response, 200, { entity: { id: randomUUID(), type: 'task', status: 'running' }, result: {} });
  }

  private poll(response: ServerResponse, id: string): void {
    const polls = (this.polls.get(id) ?? 0) + 1;
    this.polls.set(id, polls);
    if (polls > pollsBeforeHold && this.holds('polling')) return;
    const isRunning = this.isAt('polling');
    sendOutput(response, {
      entity: { id, type: 'task', status: isRunning ? 'running' : 'completed', vcredits: 1 },
      result: { output: isRunning ? {} : { connector: id, status: 'successful', duration: 1 }, error: {}, warning: {} },
    });
  }

  private isAt(point: HoldPoint): boolean {
    return this.point === point && this.isHolding;
  }

  private holds(point: HoldPoint): boolean {
    const isAt = this.isAt(point);
    if (isAt) this.held += 1;
    return isAt;
  }
}

function sendOutput(response: ServerResponse, output: Record<string, unknown>): void {
  send(response, 200, { result: { output, error: {}, warning: {} } });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
