import { connectTo, closeAll, failureOf, sendJson, serve, serveTcp } from './loopback';
import { freePort } from '../../packages/cli/src/dev-server';

afterEach(closeAll);

/** Expected code, title, and the failing server. */
type Row = [code: string, title: string, baseUrl: () => Promise<string>];

const nothingRan: Row[] = [
  ['SERVICE_UNREACHABLE', 'a refused connection', async () => `http://127.0.0.1:${await freePort()}`],
  ['SERVICE_UNREACHABLE', 'a host that has no address', () => Promise.resolve('http://no-such-service.invalid')],
  ['SERVICE_UNREACHABLE', 'a TLS handshake that fails', () => overTls(serving((response) => response.end()))],
  ['SERVICE_UNREACHABLE', 'a TLS handshake that is never answered', () => overTls(serveTcp(() => undefined))],
  ['TOO_MANY_REQUESTS', 'a 429 with the document’s error', () => refusing(429, 'TOO_MANY_REQUESTS')],
  ['TOO_MANY_REQUESTS', 'a 429 from a gateway', () => showing(429, '<h1>Slow down</h1>')],
  ['INTERNAL_SERVER_ERROR', 'a 429 whatever its code says', () => refusing(429, 'INTERNAL_SERVER_ERROR')],
  [
    'TOO_MANY_REQUESTS',
    'a 429 that is cut off in the middle',
    () => answering('HTTP/1.1 429 Too Many Requests\r\ncontent-length: 50\r\n\r\n{"result'),
  ],
  ['INVALID_PARAMETER', 'a 400 with the document’s error', () => refusing(400, 'INVALID_PARAMETER')],
  ['MOON_PHASE_WRONG', 'a 403 with an error code that no table lists', () => refusing(403, 'MOON_PHASE_WRONG')],
  ['INVALID_OUTPUT_FORMAT', 'a 200 with an error object', () => refusing(200, 'INVALID_OUTPUT_FORMAT')],
  ['MOON_PHASE_WRONG', 'a 200 with an error object whose code no table lists', () => refusing(200, 'MOON_PHASE_WRONG')],
  [
    'INSUFFICIENT_VCREDITS',
    'a 500 with an error code that proves that nothing ran',
    () => refusing(500, 'INSUFFICIENT_VCREDITS'),
  ],
  [
    'INTERNAL_SERVER_ERROR',
    'a server error of a task that is completed, for then its outcome is known and was not charged',
    () => refusing(500, 'INTERNAL_SERVER_ERROR', { entity: { id: 't', status: 'completed' } }),
  ],
];

const mayHaveRun: Row[] = [
  [
    'CONNECTION_LOST',
    'a connection that is reset before an answer',
    () => serving((response) => response.socket?.resetAndDestroy()),
  ],
  [
    'CONNECTION_LOST',
    'a connection that is closed before an answer',
    () => serving((response) => response.socket?.end()),
  ],
  [
    'CONNECTION_LOST',
    'a connection that is reset after the headers of the answer',
    () =>
      serving((response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{"result"');
        setTimeout(() => response.socket?.resetAndDestroy(), 50);
      }),
  ],
  [
    'CONNECTION_LOST',
    'an answer shorter than its content length',
    () => answering('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"result":{}}'),
  ],
  ['REQUEST_TIMEOUT', 'no answer in time', () => serving(() => undefined)],
  [
    'REQUEST_TIMEOUT',
    'an answer that stops coming',
    () =>
      serving((response) =>
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{'),
      ),
  ],
  ['UNREADABLE_RESPONSE', 'an answer that is not HTTP', () => answering('220 mail.example ESMTP\r\n')],
  ['HTTP_400', 'a 400 without an error of the document’s shape', () => showing(400, '<h1>Bad</h1>')],
  ['INTERNAL_SERVER_ERROR', 'a 500 with the document’s error', () => refusing(500, 'INTERNAL_SERVER_ERROR')],
  ['DATABASE_DOWN', 'a 500 with an error code that no table lists', () => refusing(500, 'DATABASE_DOWN')],
  [
    'BACKEND_TIMEOUT',
    'a 200 with a code that no table lists and without a result, as some gateways answer',
    () => serving((response) => sendJson(response, { code: 'BACKEND_TIMEOUT', message: 'Too late.' })),
  ],
  ['HTTP_502', 'a 502 page of a proxy', () => showing(502, '<h1>Bad gateway')],
  ['HTTP_504', 'a 504 page of a proxy', () => serving((response) => response.writeHead(504).end())],
  ['UNREADABLE_RESPONSE', 'a 200 page of HTML', () => showing(200, '<p>Welcome</p>')],
  [
    'UNREADABLE_RESPONSE',
    'a 200 with JSON of another shape',
    () => serving((response) => sendJson(response, { ok: true })),
  ],
  [
    'HTTP_307',
    'a redirect, which is never followed',
    () => serving((response) => response.writeHead(307, { location: 'http://127.0.0.1:1/elsewhere' }).end()),
  ],
];

const rows = [
  ...nothingRan.map((row) => [false, ...row] as const),
  ...mayHaveRun.map((row) => [true, ...row] as const),
];

describe('a submit that failed', () => {
  it.each(rows)('mayHaveExecuted is %s: %s of %s', async (mayHaveExecuted, code, _title, baseUrl) => {
    const api = connectTo(await baseUrl(), { connectMs: 1000, headersMs: 1000, bodyMs: 1000 });
    const error = await failureOf(api.convertFile({ connector: 'c', output: 'pdf' }));
    expect({ code: error.code, mayHaveExecuted: error.mayHaveExecuted }).toEqual({ code, mayHaveExecuted });
    expect(error.endpoint).toBe('v1/convert/file');
    expect(error.message).toMatch(/^v1\/convert\/file: ./);
  });

  it('was sent exactly once when the connection broke', async () => {
    const { baseUrl, seen } = await serve((response) => response.socket?.resetAndDestroy());
    await failureOf(connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf' }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(seen).toHaveLength(1);
  });

  it('did not run if the signal was aborted beforehand', async () => {
    const { baseUrl, seen } = await serve((response) => sendJson(response, {}));
    const error = await failureOf(
      connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf', signal: AbortSignal.abort(new Error('stop')) }),
    );
    expect(error).toMatchObject({ code: 'REQUEST_ABORTED', mayHaveExecuted: false, cause: new Error('stop') });
    expect(seen).toHaveLength(0);
  });

  it('did not run if the signal was aborted during the connection setup, and fails at once', async () => {
    const baseUrl = (await serveTcp(() => undefined)).replace('http:', 'https:');
    const signal = AbortSignal.timeout(100);
    // Longer than a test may take.
    const api = connectTo(baseUrl, { connectMs: 3_600_000 });
    const error = await failureOf(api.convertFile({ connector: 'c', output: 'pdf', signal }));
    expect(error).toMatchObject({ code: 'REQUEST_ABORTED', mayHaveExecuted: false });
  });

  it('may have run if the signal was aborted in flight', async () => {
    const { baseUrl, seen } = await serve(() => undefined);
    const error = await failureOf(
      connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf', signal: AbortSignal.timeout(300) }),
    );
    expect(error).toMatchObject({ code: 'REQUEST_ABORTED', mayHaveExecuted: true });
    expect(seen).toHaveLength(1);
  });
});

function refusing(status: number, code: string, beside = {}): Promise<string> {
  const result = { output: {}, error: { code, message: 'What went wrong.' }, warning: {} };
  return serving((response) => sendJson(response, { ...beside, result }, status));
}

function showing(status: number, page: string): Promise<string> {
  return serving((response) => response.writeHead(status, { 'content-type': 'text/html' }).end(page));
}

async function overTls(baseUrl: Promise<string>): Promise<string> {
  return (await baseUrl).replace('http:', 'https:');
}

async function serving(answer: Parameters<typeof serve>[0]): Promise<string> {
  return (await serve(answer)).baseUrl;
}

/** Writes a fixed answer to any request and closes the connection. */
function answering(text: string): Promise<string> {
  return serveTcp((socket) => socket.once('data', () => socket.end(text)));
}
