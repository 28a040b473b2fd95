import { isObject } from 'temporal-file-conversion/contract';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, request } from 'undici';
import { exchangeRaw } from '../src/http';

/** A proxy in front of the service that alters its answers, to test whether the suite notices. */

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Undefined if the answer is not a JSON object. */
  json: Record<string, unknown> | undefined;
  /** The request; `data` is the JSON of its field `data`, or empty. */
  readonly asked: { readonly method: string; readonly path: string; readonly data: Record<string, unknown> };
}

/** Changes an answer in place. */
export type Alteration = (answer: Answer) => void;

export interface AlteringProxy {
  readonly url: string;
  close(): Promise<void>;
}

const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date', 'host']);

export async function startAlteringProxy(
  serviceUrl: string,
  alter: Alteration,
  /** Returns a replacement for the request's Authorization header, or undefined to keep it. */
  authorization?: (path: string) => string | undefined,
): Promise<AlteringProxy> {
  const agent = new Agent();
  const server = createServer({ maxHeaderSize: 1024 * 1024 }, (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { method = 'POST', url = '/', headers } = incoming;
      void forward({ method, path: url, headers, body: Buffer.concat(chunks) }).then(
        (answer) => outgoing.writeHead(answer.status, answer.headers).end(answer.body),
        (error: unknown) => outgoing.destroy(new Error('the proxy failed', { cause: error })),
      );
    });
  });

  // Forwards input that is not HTTP unchanged.
  server.on('clientError', (error: Error & { rawPacket?: Buffer }, socket) => {
    const sent = error.rawPacket?.toString('latin1') ?? '';
    void exchangeRaw(serviceUrl, () => sent).then(
      ({ status, headers, json }) => {
        const answer: Answer = {
          status,
          headers: withoutHopByHop(headers),
          json: isObject(json) ? json : undefined,
          asked: { method: '', path: '', data: {} },
        };
        alter(answer);
        const body = JSON.stringify(answer.json ?? {});
        const lines = Object.entries({ ...answer.headers, 'content-length': Buffer.byteLength(body) });
        const head = lines.map(([name, value]) => `${name}: ${String(value)}\r\n`).join('');
        socket.end(`HTTP/1.1 ${answer.status} Altered\r\n${head}\r\n${body}`);
      },
      () => socket.destroy(),
    );
  });

  async function forward(asked: { method: string; path: string; headers: IncomingHttpHeaders; body: Buffer }) {
    const received = await request(serviceUrl + asked.path, {
      method: asked.method as 'POST',
      headers: {
        ...withoutHopByHop(asked.headers),
        ...(authorization?.(asked.path.slice(1)) !== undefined && {
          authorization: authorization(asked.path.slice(1)),
        }),
      },
      body: asked.body.length === 0 ? null : asked.body,
      dispatcher: agent,
    });
    const bytes = Buffer.from(await received.body.arrayBuffer());
    const answer: Answer = {
      status: received.statusCode,
      headers: withoutHopByHop(received.headers),
      json: parseObject(bytes.toString('utf8')),
      asked: { method: asked.method, path: asked.path.slice(1), data: readData(asked.body) },
    };
    alter(answer);
    return { ...answer, body: answer.json === undefined ? bytes : Buffer.from(JSON.stringify(answer.json)) };
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await agent.destroy();
    },
  };
}

function withoutHopByHop(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || hopByHop.has(name) ? [] : [[name, value]],
    ),
  );
}

function readData(body: Buffer): Record<string, unknown> {
  return parseObject(/name="data"\r\n\r\n(.*)\r\n--/.exec(body.toString('latin1'))?.[1] ?? '') ?? {};
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
