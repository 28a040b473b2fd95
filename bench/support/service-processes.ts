import { type ChildProcess, fork } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import multipart from '@fastify/multipart';
import fastify from 'fastify';
import { type ConversionServiceOptions, startConversionService } from '../../packages/service/src';

/** The servers of the benchmarks, each in a process of its own. */
export interface ServedProcess {
  readonly baseUrl: string;
  readonly pid: number;
  /** After a full garbage collection. */
  memory(): Promise<{ rssMiB: number; heapMiB: number }>;
  /** CPU time since the start of the process. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
}

export const app = { appId: randomUUID(), token: 'bench-token' };

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

export async function startEmbeddedService(
  dataDir: string,
  options: Pick<ConversionServiceOptions, 'engines' | 'conversionConcurrency'> = {},
): Promise<ServedProcess> {
  return start(['embedded', dataDir, app.appId, '', JSON.stringify(options)]);
}

/** The embedded service with a rate limit; it remembers what it was asked. */
export async function startLimitedService(
  dataDir: string,
  rateLimits: RateLimits,
): Promise<ServedProcess & { requests(): Promise<CountedRequest[]> }> {
  return start(['embedded', dataDir, app.appId, JSON.stringify(rateLimits)]);
}

/**
 * One Fastify route that answers with this text. Kind `form` reads the field `data` with Fastify's own plugin and parses it, as a route must
 * that is to know what is asked; `constant` takes the body as it comes and looks at nothing.
 */
export async function startBareRoute(kind: 'form' | 'constant', answer: string): Promise<ServedProcess> {
  return start([kind, answer]);
}

async function start(args: readonly string[]): Promise<ServedProcess & { requests(): Promise<CountedRequest[]> }> {
  const child = fork(__filename, [...args], { execArgv: ['--expose-gc'] });
  const [port] = (await once(child, 'message')) as [number];
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    memory: () => ask(child, 'memory'),
    cpuSeconds: () => ask(child, 'cpu'),
    requests: () => ask(child, 'requests'),
    async stop() {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
}

async function ask<Answer>(child: ChildProcess, question: string): Promise<Answer> {
  child.send(question);
  const [answer] = (await once(child, 'message')) as [Answer];
  return answer;
}

async function serveEmbedded([
  dataDir = '',
  appId = '',
  limits = '',
  options = '{}',
]: readonly string[]): Promise<number> {
  if (limits !== '') count();
  const tokenSha256 = createHash('sha256').update(app.token).digest('hex');
  const { port } = await startConversionService({
    ...(JSON.parse(options) as Partial<ConversionServiceOptions>),
    dataDir,
    apps: [
      {
        name: 'bench',
        appId,
        tokenSha256,
        vcredits: 1_000_000_000,
        ...(limits !== '' && { rateLimits: JSON.parse(limits) as RateLimits }),
      },
    ],
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

async function serveBare(kind: 'form' | 'constant', answer: string): Promise<number> {
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

function memory(): { rssMiB: number; heapMiB: number } {
  for (let round = 0; round < 3; round += 1) globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { rssMiB: rss / 1024 / 1024, heapMiB: heapUsed / 1024 / 1024 };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

if (require.main === module) {
  const [, , kind, ...args] = process.argv;
  const answers: Record<string, () => unknown> = { memory, cpu: cpuSeconds, requests: () => counted };
  process.on('message', (question) => process.send?.(answers[String(question)]?.()));
  process.once('SIGTERM', () => process.exit(0));
  void (kind === 'form' || kind === 'constant' ? serveBare(kind, args[0] ?? '') : serveEmbedded(args)).then((port) =>
    process.send?.(port),
  );
}
