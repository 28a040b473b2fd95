import { randomUUID } from 'node:crypto';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { CountingService } from './counting-service';
import { startCountingService, tellCounts } from './counting-service';

const converted = Buffer.from('PK result');

/** A conversion service whose every conversion takes the same time. It calls back where that was asked for. */
export function startTimedService(conversionMs: number): Promise<CountingService> {
  return startCountingService(__filename, [String(conversionMs)]);
}

const running = new Set<string>();

async function answer(incoming: IncomingMessage, response: ServerResponse, conversionMs: number): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const form = Buffer.concat(chunks).toString('latin1');
  const field = (name: string) => new RegExp(`"${name}":"([^"]+)"`).exec(form)?.[1];
  if (incoming.url === '/v1/upload/file') {
    sendOutput(response, { connector: randomUUID(), size: 1 });
  } else if (incoming.url === '/v1/convert/file') {
    const id = randomUUID();
    running.add(id);
    setTimeout(() => finish(id, field('callback')), conversionMs);
    send(response, { entity: { id, type: 'task', status: 'running' }, result: {} });
  } else if (incoming.url === '/v1/task/response') {
    const id = field('connector') ?? '';
    const isRunning = running.has(id);
    const output = isRunning ? {} : { connector: id, status: 'successful', duration: conversionMs / 1_000 };
    sendOutput(response, {
      entity: { id, type: 'task', status: isRunning ? 'running' : 'completed', vcredits: 1 },
      result: { output, error: {}, warning: {} },
    });
  } else if (incoming.url === '/v1/download/url') {
    sendOutput(response, { connector: randomUUID(), name: 'a.pdf', size: converted.length });
  } else {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': converted.length });
    response.end(converted);
  }
}

function finish(id: string, callback: string | undefined): void {
  running.delete(id);
  if (callback === undefined) return;
  const body = JSON.stringify({ entity: { id, type: 'task', status: 'completed' } });
  const call = request(callback, { method: 'POST', headers: { 'content-type': 'application/json' } }, (response) => {
    if (response.statusCode !== 204) console.error(`A callback was answered with ${response.statusCode ?? 0}.`);
    response.resume();
  });
  call.on('error', (error) => console.error(error));
  call.end(body);
}

function sendOutput(response: ServerResponse, output: Record<string, unknown>): void {
  send(response, { result: { output, error: {}, warning: {} } });
}

function send(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

if (require.main === module) {
  const conversionMs = Number(process.argv[2]);
  let requests = 0;
  const server = createServer((incoming, response) => {
    requests += 1;
    void answer(incoming, response, conversionMs);
  });
  tellCounts(() => requests);
  process.once('disconnect', () => process.exit());
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object') process.send?.(address?.port);
  });
}
