import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';

/** A request as the stub saw it. */
export interface SeenRequest {
  path: string;
  data: Record<string, unknown>;
  /** The connector in its data. */
  connector: string;
  body: Buffer;
  token: string;
  /** Milliseconds since the epoch. */
  at: number;
}

interface Outcome {
  status?: string;
  error?: { code: string; message: string };
  vcredits?: number;
  payload?: unknown;
}

type Arrival = (request: IncomingMessage) => Promise<void>;
type Handler = (request: SeenRequest, response: ServerResponse, stub: StubService) => void | Promise<void>;

/**
 * A conversion service whose answers a test can replace. By default each conversion is accepted as running and completed at the first poll,
 * and the result is `output`.
 */
export interface StubService {
  url: string;
  requests: SeenRequest[];
  /** The code with which a request is refused, at any endpoint. Default: none is refused. */
  refuse: (request: SeenRequest) => string | undefined;
  /** The refused requests. */
  refused: SeenRequest[];
  /** Number of requests to an endpoint, for example `convert/file`. */
  count(endpoint: string): number;
  /** Replaces the answers of an endpoint. */
  on(endpoint: string, handler: Handler): void;
  /** The charged conversions, finished or not: name of the uploaded file by task. */
  conversions: Map<string, string>;
  /** Name of the uploaded file of a convert request. */
  fileOf(request: SeenRequest): string;
  /** Runs the conversion of a request and returns the id of its task. The test answers the request. */
  convert(request: SeenRequest): string;
  /** Sends the stub's default answer. */
  answerAsAlways(request: SeenRequest, response: ServerResponse): void;
  /** Sets an endpoint's first answers, which are followed by the default ones. */
  first(endpoint: string, ...answers: ((response: ServerResponse, request: SeenRequest) => void)[]): void;
  /** Answers every request to an endpoint with this error. */
  fail(endpoint: string, status: number, code: string, headers?: Record<string, string>): void;
  /** Ends every task with this outcome. */
  complete(outcome: Outcome): void;
  /** Restores the default answers of these endpoints. */
  asAlways(...endpoints: string[]): void;
  /** Reports conversions of these files, or of all, as running until they are let go. */
  hold(...files: string[]): { letGo: () => void };
  /** Runs every requested conversion, but cuts the connection before the answer. */
  loseSubmits(): void;
  /** Called before the body of a request is read; while it is awaited, the request is still being sent. */
  onArrival(endpoint: string, arrival: Arrival): void;
  output: Buffer;
  /** Number of open connections, including idle ones. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

export const stubToken = 'stub-token-4711';
export const stubAppId = '7d7f6b1e-6f0c-4b5e-9d86-0d6a0f9f0a11';

export async function startStubService(port = 0): Promise<StubService> {
  const handlers = new Map<string, Handler>(Object.entries(defaultHandlers));
  const arrivals = new Map<string, Arrival>();
  const uploads = new Map<string, string>();
  handlers.set('upload/file', (seen, response) => {
    const connector = randomUUID();
    uploads.set(connector, /filename="([^"]*)"/.exec(seen.body.toString('latin1'))?.[1] ?? '');
    answerOutput(response, { connector, size: 1 });
  });
  const always = new Map(handlers);
  const server = createServer((request, response) => {
    void readRequest(request, arrivals.get(endpointOf(request))).then(
      async (seen) => {
        stub.requests.push(seen);
        const code = stub.refuse(seen);
        if (code !== undefined) {
          stub.refused.push(seen);
          answerError(response, 403, code);
          return;
        }
        const handler = handlers.get(seen.path);
        if (handler) await handler(seen, response, stub);
        else answerError(response, 404, 'NOT_FOUND');
      },
      () => response.destroy(),
    );
  });
  // Connections that are closed during a request have their own tests.
  server.keepAliveTimeout = 60_000;
  const stub: StubService = {
    url: '',
    requests: [],
    refuse: () => undefined,
    refused: [],
    conversions: new Map(),
    fileOf: (seen) => uploads.get(String(seen.data['connector'])) ?? '',
    convert: (seen) => {
      const id = randomUUID();
      stub.conversions.set(id, stub.fileOf(seen));
      return id;
    },
    output: Buffer.from('PK result'),
    count: (endpoint) => stub.requests.filter((seen) => seen.path === endpoint).length,
    on: (endpoint, handler) => handlers.set(endpoint, handler),
    answerAsAlways: (seen, response) => void always.get(seen.path)?.(seen, response, stub),
    first: (endpoint, ...answers) =>
      stub.on(endpoint, (seen, response) => {
        const next = answers.shift();
        if (next) next(response, seen);
        else stub.answerAsAlways(seen, response);
      }),
    fail: (endpoint, ...error) => stub.on(endpoint, (_seen, response) => answerError(response, ...error)),
    complete: (outcome) =>
      stub.on('task/response', (seen, response) => answerCompleted(response, String(seen.data['connector']), outcome)),
    asAlways: (...endpoints) => {
      for (const endpoint of endpoints) stub.on(endpoint, (seen, response) => stub.answerAsAlways(seen, response));
    },
    hold: (...files) => {
      let isHeld = true;
      stub.on('task/response', (seen, response) => {
        const id = String(seen.data['connector']);
        const isOne = files.length === 0 || files.includes(stub.conversions.get(id) ?? '');
        if (isHeld && isOne) answerNotYet(response, id);
        else stub.answerAsAlways(seen, response);
      });
      return { letGo: () => (isHeld = false) };
    },
    loseSubmits: () =>
      stub.on('convert/file', (seen, response) => {
        stub.convert(seen);
        cut(response);
      }),
    onArrival: (endpoint, arrival) => arrivals.set(endpoint, arrival),
    connections: () => promisify(server.getConnections.bind(server))(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  stub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return stub;
}

const defaultHandlers: Record<string, Handler> = {
  'convert/file': (seen, response, stub) => answerRunning(response, stub.convert(seen)),
  'task/response': (seen, response) => answerCompleted(response, String(seen.data['connector'])),
  'download/url': (_seen, response, stub) =>
    answerOutput(response, {
      connector: randomUUID(),
      name: 'result',
      size: stub.output.length,
      url: '/v1/download/url/get',
    }),
  'download/url/get': (_seen, response, stub) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': stub.output.length });
    response.end(stub.output);
  },
};

async function readRequest(request: IncomingMessage, arrival: Arrival | undefined): Promise<SeenRequest> {
  const at = Date.now();
  await arrival?.(request);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const json = /name="data"[^{]*?\r\n\r\n(\{.*?\})\r\n--/s.exec(body.toString('latin1'))?.[1] ?? '{}';
  const token = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  const data = JSON.parse(json) as Record<string, unknown>;
  return { path: endpointOf(request), data, connector: String(data['connector']), body, token, at };
}

function endpointOf(request: IncomingMessage): string {
  return (request.url ?? '').replace(/^\/v1\//, '');
}

export function answerJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

export function answerOutput(response: ServerResponse, output: Record<string, unknown>): void {
  answerJson(response, 200, { result: { output, error: {}, warning: {} } });
}

export function answerError(response: ServerResponse, status: number, code: string, headers = {}): void {
  const message = `${code.toLowerCase().replaceAll('_', ' ')}.`;
  answerJson(response, status, { result: { output: {}, error: { code, message }, warning: {} } }, headers);
}

export function answerRunning(response: ServerResponse, id: string): void {
  answerJson(response, 200, { entity: { id, type: 'task', status: 'running' }, result: {} });
}

/** Answers that the polled task is running. */
export function answerNotYet(response: ServerResponse, id: string): void {
  answerOutput(response, { entity: { id, status: 'running' }, result: {} });
}

/** Answers that the polled task is completed: successful, or with an error or an output status. */
export function answerCompleted(response: ServerResponse, id: string, outcome: Outcome = {}): void {
  const entity = { id, type: 'task', status: 'completed', vcredits: outcome.vcredits ?? (outcome.error ? 0 : 1) };
  const output = outcome.error ? {} : { connector: id, status: outcome.status ?? 'successful', duration: 1 };
  const { error = {}, payload } = outcome;
  answerOutput(response, { entity, payload, result: { output, error, warning: {} } });
}

/** Closes the connection without an answer. */
export function cut(response: ServerResponse): void {
  response.socket?.destroy();
}
