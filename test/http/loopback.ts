import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { openConversionApi, type ApiTimeouts, type ConversionApi } from '../../src/http/client';
import { ConversionApiError } from '../../src/http/errors';
import { parseForm } from '../support/parse-form';

export { buffer as readAll } from 'node:stream/consumers';

export const token = 'tok_5f0e-secret-of-the-app';
export const appId = '7d0b6f0e-3c0a-4f6a-9a4e-1d1f5b1c2a3b';

/** A request as it reached a test server, including its body. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

const cleanups: (() => Promise<void> | void)[] = [];

/** Must be called in `afterEach`. */
export async function closeAll(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

/** Starts an HTTP server that answers after the whole request has arrived. */
export async function serve(
  answer: (response: ServerResponse, request: SeenRequest) => void,
): Promise<{ baseUrl: string; seen: SeenRequest[] }> {
  const seen: SeenRequest[] = [];
  const baseUrl = await serveRaw((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const all = { method, url, headers, body: Buffer.concat(chunks) };
      seen.push(all);
      answer(response, all);
    });
  });
  return { baseUrl, seen };
}

/** Starts an HTTP server whose handler gets each request before its body. */
export async function serveRaw(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  configure?: (server: Server) => void,
): Promise<string> {
  const server = createServer(handle);
  configure?.(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function serveTcp(handle: (socket: net.Socket) => void): Promise<string> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    handle(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function connectTo(baseUrl: string, timeouts?: Partial<ApiTimeouts>): ConversionApi {
  const api = openConversionApi({ baseUrl, appId, token, timeouts });
  cleanups.push(() => api.close());
  return api;
}

export function sendJson(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** The error that a call fails with. A call that succeeds fails the test. */
export async function failureOf(call: Promise<unknown>): Promise<ConversionApiError> {
  const outcome = await call.then(
    (value) => new Error(`succeeded with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof ConversionApiError) return outcome;
  throw new Error('not a ConversionApiError', { cause: outcome });
}

interface Form {
  readonly keys: string[];
  readonly data: unknown;
  readonly fileName: string | undefined;
  readonly fileBytes: Buffer | undefined;
}

/** Parses the multipart body of a request. */
export async function readForm(request: SeenRequest | undefined): Promise<Form> {
  if (!request) throw new Error('no request came');
  const form = await parseForm(request.body, request.headers['content-type'] ?? '');
  const data = form.get('data');
  const file = form.get('file');
  const isFile = file instanceof File;
  return {
    keys: [...form.keys()],
    data: typeof data === 'string' ? JSON.parse(data) : undefined,
    fileName: isFile ? file.name : undefined,
    fileBytes: isFile ? Buffer.from(await file.arrayBuffer()) : undefined,
  };
}

export const closing = (socket: net.Socket): Promise<void> =>
  new Promise((resolve) => socket.once('close', () => resolve()));
