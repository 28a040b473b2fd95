import { createHash } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import multipart from '@fastify/multipart';
import fastify from 'fastify';
import { type ConversionServiceOptions, startConversionService } from '../../packages/service/src';
import { app } from './app';
import { type BenchService, startService } from './bench-service';
import { asChild } from './child-process';

/** A request as a service with a rate limit counted it. */
export interface CountedRequest {
  readonly endpoint: string;
  readonly status: number;
  /** When it arrived, in milliseconds since the epoch. */
  readonly atMs: number;
}

export interface RateLimits {
  readonly windowSeconds: number;
  readonly upload: number;
  readonly submit: number;
  readonly poll: number;
  readonly download: number;
}

/** Uploads are stricter, as the document says; a download is two requests of one class. */
export function limitsOf(limit: number, windowSeconds: number): RateLimits {
  return { windowSeconds, upload: limit / 2, submit: limit, poll: limit, download: limit };
}

interface Embedded extends Pick<ConversionServiceOptions, 'engines' | 'conversionConcurrency'> {
  readonly dataDir: string;
  readonly rateLimits?: RateLimits;
}

/** Kind `form` reads the field `data` with Fastify's own plugin and parses it, as a route must that is to know what is asked; `constant` takes the body as it comes and looks at nothing. */
interface BareRoute {
  readonly kind: 'form' | 'constant';
  readonly answer: string;
}

/** The embedded service. With a rate limit it remembers the `requests` that it was asked. It tells its `memory`. */
export function startEmbeddedService(options: Embedded): Promise<BenchService> {
  return startService(__filename, options);
}

/** One Fastify route that answers with this text. */
export function startBareRoute(options: BareRoute): Promise<BenchService> {
  return startService(__filename, options);
}

async function serveEmbedded({ rateLimits, ...options }: Embedded): Promise<number> {
  if (rateLimits) count();
  const tokenSha256 = createHash('sha256').update(app.token).digest('hex');
  const account = { name: 'bench', appId: app.appId, tokenSha256, vcredits: 1_000_000_000 };
  const { port } = await startConversionService({
    ...options,
    apps: [{ ...account, ...(rateLimits && { rateLimits }) }],
  });
  return port;
}

const counted: CountedRequest[] = [];

function count(): void {
  const arrivals = new WeakMap<object, number>();
  subscribe('http.server.request.start', (message) => {
    arrivals.set((message as { request: IncomingMessage }).request, Date.now());
  });
  subscribe('http.server.response.finish', (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    const endpoint = (request.url ?? '').replace('/v1/', '');
    counted.push({ endpoint, status: response.statusCode, atMs: arrivals.get(request) ?? Date.now() });
  });
}

async function serveBare({ kind, answer }: BareRoute): Promise<number> {
  const server = fastify();
  if (kind === 'form') await server.register(multipart, { attachFieldsToBody: 'keyValues' });
  else {
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  }
  server.post('/v1/task/response', (request, reply) => {
    if (kind === 'form') JSON.parse((request.body as { data: string }).data);
    return reply.header('content-type', 'application/json; charset=utf-8').send(answer);
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  const address = server.server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

/** After a full garbage collection. */
export interface Memory {
  readonly rssMiB: number;
  readonly heapMiB: number;
}

function memory(): Memory {
  for (let round = 0; round < 3; round += 1) globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { rssMiB: rss / 1024 / 1024, heapMiB: heapUsed / 1024 / 1024 };
}

const begin = (options: Embedded | BareRoute) => ('kind' in options ? serveBare(options) : serveEmbedded(options));

asChild(module, begin, { memory, requests: () => counted });
