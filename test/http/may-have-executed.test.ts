import { connectTo, closeAll, failureOf, freePort, sendJson, serve, serveTcp } from './loopback';

afterEach(closeAll);

interface Row {
  readonly title: string;
  /** Where the failing server is. */
  readonly baseUrl: () => Promise<string>;
  readonly code: string;
  readonly mayHaveExecuted: boolean;
}

const nothingRan: Omit<Row, 'mayHaveExecuted'>[] = [
  {
    title: 'a refused connection',
    baseUrl: async () => `http://127.0.0.1:${await freePort()}`,
    code: 'SERVICE_UNREACHABLE',
  },
  {
    title: 'a host that has no address',
    baseUrl: () => Promise.resolve('http://no-such-service.invalid'),
    code: 'SERVICE_UNREACHABLE',
  },
  {
    title: 'a TLS handshake that fails',
    baseUrl: async () => (await serve((response) => response.end())).baseUrl.replace('http:', 'https:'),
    code: 'SERVICE_UNREACHABLE',
  },
  {
    title: 'a TLS handshake that is never answered',
    baseUrl: async () => (await serveTcp(() => undefined)).replace('http:', 'https:'),
    code: 'SERVICE_UNREACHABLE',
  },
  {
    title: 'a 429 with the document’s error',
    baseUrl: () => serving((response) => sendJson(response, problem('TOO_MANY_REQUESTS'), 429)),
    code: 'TOO_MANY_REQUESTS',
  },
  {
    title: 'a 429 from a gateway',
    baseUrl: () =>
      serving((response) => response.writeHead(429, { 'content-type': 'text/html' }).end('<h1>Slow down</h1>')),
    code: 'TOO_MANY_REQUESTS',
  },
  {
    title: 'a 429 whatever its code says',
    baseUrl: () => serving((response) => sendJson(response, problem('INTERNAL_SERVER_ERROR'), 429)),
    code: 'INTERNAL_SERVER_ERROR',
  },
  {
    title: 'a 429 that is cut off in the middle',
    baseUrl: () => answering('HTTP/1.1 429 Too Many Requests\r\ncontent-length: 50\r\n\r\n{"result'),
    code: 'TOO_MANY_REQUESTS',
  },
  {
    title: 'a 400 with the document’s error',
    baseUrl: () => serving((response) => sendJson(response, problem('INVALID_PARAMETER'), 400)),
    code: 'INVALID_PARAMETER',
  },
  {
    title: 'a 403 with an error code that no table lists',
    baseUrl: () => serving((response) => sendJson(response, problem('MOON_PHASE_WRONG'), 403)),
    code: 'MOON_PHASE_WRONG',
  },
  {
    title: 'a 200 with an error object',
    baseUrl: () => serving((response) => sendJson(response, problem('INVALID_OUTPUT_FORMAT'))),
    code: 'INVALID_OUTPUT_FORMAT',
  },
  {
    title: 'a 500 with an error code that proves that nothing ran',
    baseUrl: () => serving((response) => sendJson(response, problem('INSUFFICIENT_VCREDITS'), 500)),
    code: 'INSUFFICIENT_VCREDITS',
  },
  {
    title: 'a server error of a task that is completed, for then its outcome is known and was not charged',
    baseUrl: () =>
      serving((response) =>
        sendJson(response, { entity: { id: 't', status: 'completed' }, ...problem('INTERNAL_SERVER_ERROR') }, 500),
      ),
    code: 'INTERNAL_SERVER_ERROR',
  },
];

const mayHaveRun: Omit<Row, 'mayHaveExecuted'>[] = [
  {
    title: 'a connection that is reset before an answer',
    baseUrl: () => serving((response) => response.socket?.resetAndDestroy()),
    code: 'CONNECTION_LOST',
  },
  {
    title: 'a connection that is closed before an answer',
    baseUrl: () => serving((response) => response.socket?.end()),
    code: 'CONNECTION_LOST',
  },
  {
    title: 'a connection that is reset after the headers of the answer',
    baseUrl: () =>
      serving((response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{"result"');
        setTimeout(() => response.socket?.resetAndDestroy(), 50);
      }),
    code: 'CONNECTION_LOST',
  },
  {
    title: 'an answer shorter than its content length',
    baseUrl: () => answering('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"result":{}}'),
    code: 'CONNECTION_LOST',
  },
  { title: 'no answer in time', baseUrl: () => serving(() => undefined), code: 'REQUEST_TIMEOUT' },
  {
    title: 'an answer that stops coming',
    baseUrl: () =>
      serving((response) =>
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{'),
      ),
    code: 'REQUEST_TIMEOUT',
  },
  {
    title: 'an answer that is not HTTP',
    baseUrl: () => answering('220 mail.example ESMTP\r\n'),
    code: 'UNREADABLE_RESPONSE',
  },
  {
    title: 'a 400 without an error of the document’s shape',
    baseUrl: () => serving((response) => response.writeHead(400, { 'content-type': 'text/html' }).end('<h1>Bad</h1>')),
    code: 'HTTP_400',
  },
  {
    title: 'a 500 with the document’s error',
    baseUrl: () => serving((response) => sendJson(response, problem('INTERNAL_SERVER_ERROR'), 500)),
    code: 'INTERNAL_SERVER_ERROR',
  },
  {
    title: 'a 500 with an error code that no table lists',
    baseUrl: () => serving((response) => sendJson(response, problem('DATABASE_DOWN'), 500)),
    code: 'DATABASE_DOWN',
  },
  {
    title: 'a 502 page of a proxy',
    baseUrl: () =>
      serving((response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway')),
    code: 'HTTP_502',
  },
  {
    title: 'a 504 page of a proxy',
    baseUrl: () => serving((response) => response.writeHead(504).end()),
    code: 'HTTP_504',
  },
  {
    title: 'a 200 page of HTML',
    baseUrl: () =>
      serving((response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Welcome</p>')),
    code: 'UNREADABLE_RESPONSE',
  },
  {
    title: 'a 200 with JSON of another shape',
    baseUrl: () => serving((response) => sendJson(response, { ok: true })),
    code: 'UNREADABLE_RESPONSE',
  },
  {
    title: 'a redirect, which is never followed',
    baseUrl: () => serving((response) => response.writeHead(307, { location: 'http://127.0.0.1:1/elsewhere' }).end()),
    code: 'HTTP_307',
  },
];

const rows: Row[] = [
  ...nothingRan.map((row) => ({ ...row, mayHaveExecuted: false })),
  ...mayHaveRun.map((row) => ({ ...row, mayHaveExecuted: true })),
];

describe('a submit that failed', () => {
  it.each(rows)('$title: mayHaveExecuted is $mayHaveExecuted', async ({ baseUrl, code, mayHaveExecuted }) => {
    const api = connectTo(await baseUrl(), { connectMs: 1000, headersMs: 1000, bodyMs: 1000 });
    const error = await failureOf(api.convertFile({ connector: 'c', output: 'pdf' }));
    expect({ code: error.code, mayHaveExecuted: error.mayHaveExecuted }).toEqual({ code, mayHaveExecuted });
    expect(error.endpoint).toBe('v1/convert/file');
    expect(error.message).toMatch(/^v1\/convert\/file: ./);
  });

  it('was sent once, and once only, when the connection broke', async () => {
    const { baseUrl, seen } = await serve((response) => response.socket?.resetAndDestroy());
    await failureOf(connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf' }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(seen).toHaveLength(1);
  });

  it('ran nothing when the signal was aborted beforehand', async () => {
    const { baseUrl, seen } = await serve((response) => sendJson(response, {}));
    const error = await failureOf(
      connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf', signal: AbortSignal.abort(new Error('stop')) }),
    );
    expect(error).toMatchObject({ code: 'REQUEST_ABORTED', mayHaveExecuted: false, cause: new Error('stop') });
    expect(seen).toHaveLength(0);
  });

  it('ran nothing when the signal was aborted while the connection was being made, and says so at once', async () => {
    const baseUrl = (await serveTcp(() => undefined)).replace('http:', 'https:');
    const startedAt = Date.now();
    const signal = AbortSignal.timeout(100);
    const error = await failureOf(
      connectTo(baseUrl, { connectMs: 3000 }).convertFile({ connector: 'c', output: 'pdf', signal }),
    );
    expect(error).toMatchObject({ code: 'REQUEST_ABORTED', mayHaveExecuted: false });
    expect(Date.now() - startedAt).toBeLessThan(1500);
  });

  it('may have run when the signal was aborted under way', async () => {
    const { baseUrl, seen } = await serve(() => undefined);
    const error = await failureOf(
      connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf', signal: AbortSignal.timeout(300) }),
    );
    expect(error).toMatchObject({ code: 'REQUEST_ABORTED', mayHaveExecuted: true });
    expect(seen).toHaveLength(1);
  });
});

function problem(code: string): { result: unknown } {
  return { result: { output: {}, error: { code, message: 'What went wrong.' }, warning: {} } };
}

async function serving(answer: Parameters<typeof serve>[0]): Promise<string> {
  return (await serve(answer)).baseUrl;
}

/** Writes a fixed answer to whatever comes and closes the connection. */
function answering(text: string): Promise<string> {
  return serveTcp((socket) => socket.once('data', () => socket.end(text)));
}
