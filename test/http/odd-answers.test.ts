import { gzipSync } from 'node:zlib';
import { closeAll, connectTo, failureOf, sendJson, serve, serveTcp } from './loopback';

/** Hand-picked answers at the edge of the document; `property.slow.test.ts` generates more. */

afterEach(closeAll);

const wire = (head: readonly string[], body: string): Promise<string> =>
  serveTcp((socket) =>
    socket.once('data', () =>
      socket.end(`${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
    ),
  );

const completed = JSON.stringify({
  result: {
    output: {
      entity: { id: 't', status: 'completed' },
      result: { output: { connector: 't', status: 'successful', duration: 1 }, error: {}, warning: {} },
    },
    error: {},
    warning: {},
  },
});

it('a repeated header counts with its first value', async () => {
  const head = ['HTTP/1.1 429 Slow', 'retry-after: 7', 'retry-after: 9', 'content-type: a/b', 'content-type: c/d'];
  const failure = await failureOf(connectTo(await wire(head, 'no')).taskResponse({ connector: 't' }));
  expect(failure).toMatchObject({ code: 'TOO_MANY_REQUESTS', httpStatus: 429, retryAfterSeconds: 7 });
  expect(failure.message).toContain('(a/b)');
});

describe('JSON', () => {
  it.each(['text/html', 'text/plain; charset=latin1', 'application/octet-stream', 'not a type'])(
    'is parsed even with content type %s',
    async (type) => {
      const api = connectTo(await wire(['HTTP/1.1 200 OK', `content-type: ${type}`], completed));
      expect(await api.taskResponse({ connector: 't' })).toMatchObject({ outputStatus: 'successful' });
    },
  );

  it('is parsed without a content type', async () => {
    const api = connectTo(await wire(['HTTP/1.1 200 OK'], completed));
    expect(await api.taskResponse({ connector: 't' })).toMatchObject({ outputStatus: 'successful' });
  });

  it('is parsed after a byte order mark', async () => {
    const api = connectTo(await wire(['HTTP/1.1 200 OK'], `\ufeff${completed}`));
    expect(await api.taskResponse({ connector: 't' })).toMatchObject({ outputStatus: 'successful' });
  });

  it('is requested unencoded, and the error names an encoding that came anyway', async () => {
    const { baseUrl, seen } = await serve((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(completed)),
    );
    const failure = await failureOf(connectTo(baseUrl).taskResponse({ connector: 't' }));
    expect(seen[0]?.headers['accept-encoding']).toBe('identity');
    expect(failure).toMatchObject({ code: 'UNREADABLE_RESPONSE' });
    expect(failure.message).toMatch(/it is encoded \(gzip\), which was not asked for$/);
  });
});

describe('bytes where JSON was expected', () => {
  const calls = ['convertFile', 'taskResponse', 'downloadUrl'] as const;
  it.each(calls)('are an unreadable answer to %s, and are quoted without control characters', async (call) => {
    const { baseUrl } = await serve((response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26])),
    );
    const failure = await failureOf(connectTo(baseUrl)[call]({ connector: 'c', output: 'pdf' }));
    expect(failure).toMatchObject({ code: 'UNREADABLE_RESPONSE', httpStatus: 200, mayHaveExecuted: true });
    expect(failure.message).not.toMatch(/\p{Cc}/u);
  });
});

describe('an answer to convertFile', () => {
  it('without an entity names its task by the connector of its output', async () => {
    const { baseUrl } = await serve((response) =>
      sendJson(response, { result: { output: { connector: 'next' }, error: {}, warning: {} } }),
    );
    const snapshot = await connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf' });
    expect(snapshot).toMatchObject({ connector: 'next', status: 'completed' });
    expect(snapshot.taskId).toBeUndefined();
  });

  it('with any HTTP success status is read like a 200', async () => {
    const { baseUrl } = await serve((response) =>
      sendJson(response, { entity: { id: 't', status: 'running' }, result: {} }, 202),
    );
    expect(await connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf' })).toMatchObject({ connector: 't' });
  });

  it('without a connector is reported with its HTTP status', async () => {
    const { baseUrl } = await serve((response) => sendJson(response, { entity: {}, result: {} }, 201));
    const failure = await failureOf(connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf' }));
    expect(failure).toMatchObject({ code: 'UNREADABLE_RESPONSE', httpStatus: 201, mayHaveExecuted: true });
    expect(failure.message).toContain('application/json');
  });
});
