import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { closeAll, closing, connectTo, failureOf, readAll, sendJson, serve, serveRaw, serveTcp } from './loopback';

afterEach(closeAll);

const ticket = { connector: 'c' };

/** Fails if either the request or the stream fails. */
const fetched = async (asking: Promise<{ body: Readable }>) => readAll((await asking).body);

const serving = (content: string, type = 'application/json') =>
  serve((response) => response.writeHead(200, { 'content-type': type }).end(content));

describe('download', () => {
  it('streams the bytes unchanged and returns the content length', async () => {
    const bytes = randomBytes(5_000_000);
    const { baseUrl } = await serve((response) =>
      response.writeHead(200, { 'content-length': bytes.length }).end(bytes),
    );
    const { body, contentLength } = await connectTo(baseUrl).download({ ticket });
    expect(contentLength).toBe(bytes.length);
    expect((await readAll(body)).equals(bytes)).toBe(true);
  });

  it('accepts an answer without a content length', async () => {
    const { baseUrl } = await serve((response) => {
      response.write('ab');
      response.end('c');
    });
    const { body, contentLength } = await connectTo(baseUrl).download({ ticket });
    expect(contentLength).toBeUndefined();
    expect((await readAll(body)).toString()).toBe('abc');
  });

  it.each([
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['application/problem+json', 404],
    ['text/plain', 404],
  ])('fails with the documented error in a body of type %s at HTTP %i', async (type, status) => {
    const { baseUrl } = await serve((response) => {
      const error = { code: 'DOWNLOAD_EXPIRED', message: 'The download of this converted file has expired.' };
      response.writeHead(status, { 'content-type': type }).end(JSON.stringify({ result: { error } }));
    });
    const failure = await failureOf(fetched(connectTo(baseUrl).download({ ticket })));
    expect(failure).toMatchObject({ code: 'DOWNLOAD_EXPIRED', httpStatus: status, mayHaveExecuted: false });
  });

  it.each([
    ['a small JSON file', JSON.stringify({ 'pandoc-api-version': [1, 23], meta: {}, blocks: [] }), 'application/json'],
    [
      'a JSON file with a key named error',
      JSON.stringify({ error: { rate: 0.02 }, code: 7, message: 'ok' }),
      'application/json',
    ],
    [
      'a JSON file with an error object of its own',
      JSON.stringify({ error: { code: 'minor', message: 'ok' } }),
      'application/json',
    ],
    ['a JSON file longer than any error', JSON.stringify({ blocks: Array(40_000).fill('word') }), 'application/json'],
    ['JSON that is none', '{"result": {"error": ', 'application/json'],
    ['HTML', '<table>', 'text/html'],
  ])('accepts %s as the converted file', async (_what, content, type) => {
    const { body } = await connectTo((await serving(content, type)).baseUrl).download({ ticket });
    expect((await readAll(body)).toString()).toBe(content);
  });

  it('accepts a body of the announced size even if it looks like an error, unless it has the wrong format', async () => {
    const content = JSON.stringify({ code: 'NOT_FOUND', message: 'The API endpoint does not exist.' });
    const { baseUrl } = await serving(content);
    const sized = { ...ticket, size: content.length };
    const { body } = await connectTo(baseUrl).download({ ticket: sized, output: 'txt' });
    expect((await readAll(body)).toString()).toBe(content);
    const { body: wrong } = await connectTo(baseUrl).download({ ticket: sized, output: 'pdf' });
    expect(await failureOf(readAll(wrong))).toMatchObject({
      code: 'UNREADABLE_RESPONSE',
      message: expect.stringContaining('does not begin like a pdf file') as unknown,
    });
    const failure = await failureOf(fetched(connectTo(baseUrl).download({ ticket: { ...ticket, size: 4_711 } })));
    expect(failure.code).toBe('NOT_FOUND');
  });

  it('accepts JSON with a code of its own as a JSON result', async () => {
    const content = JSON.stringify({ code: 'ORDER_SHIPPED', message: 'It is on its way.' });
    const { baseUrl } = await serving(content);
    const { body } = await connectTo(baseUrl).download({ ticket, output: 'json' });
    expect((await readAll(body)).toString()).toBe(content);
    expect((await failureOf(fetched(connectTo(baseUrl).download({ ticket, output: 'pdf' })))).code).toBe(
      'ORDER_SHIPPED',
    );
  });

  it.each([
    ['application/octet-stream', 'txt'],
    ['text/plain', 'json'],
    ['application/json', 'json'],
  ])('rejects an error in the documented shape, of type %s, as a result in %s', async (type, output) => {
    const error = { code: 'BUSY_NOW', message: 'Ask later.' };
    const { baseUrl } = await serving(JSON.stringify({ result: { output: {}, error, warning: {} } }), type);
    expect((await failureOf(fetched(connectTo(baseUrl).download({ ticket, output })))).code).toBe('BUSY_NOW');
  });

  it("rejects a gateway's JSON as text, unless its size was announced", async () => {
    const content = JSON.stringify({ message: 'Service Unavailable', status: 503 });
    const { baseUrl } = await serving(content);
    const failure = await failureOf(fetched(connectTo(baseUrl).download({ ticket, output: 'csv' })));
    expect(failure).toMatchObject({ code: 'UNREADABLE_RESPONSE', message: expect.stringContaining('JSON') as unknown });
    const sized = { ...ticket, size: content.length };
    const { body } = await connectTo(baseUrl).download({ ticket: sized, output: 'txt' });
    expect((await readAll(body)).toString()).toBe(content);
  });

  it.each([
    ['a content encoding, because the bytes would not be the file’s', 200, { 'content-encoding': 'gzip' }],
    ['a success other than 200', 206, {}],
  ])('rejects %s', async (_what, status, headers) => {
    const { baseUrl } = await serve((response) => response.writeHead(status, headers).end('x'));
    expect((await failureOf(connectTo(baseUrl).download({ ticket }))).code).toBe('UNREADABLE_RESPONSE');
  });

  it.each([
    ['in the stream when the connection breaks in the middle', 0],
    ['also for whoever reads the stream later', 100],
  ])('fails %s', async (_when, laterMs) => {
    // The connection closes after three of ten bytes.
    const baseUrl = await serveTcp((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc')),
    );
    const { body } = await connectTo(baseUrl).download({ ticket });
    if (laterMs > 0) await new Promise((resolve) => setTimeout(resolve, laterMs));
    expect(await failureOf(readAll(body))).toMatchObject({
      code: 'CONNECTION_LOST',
      endpoint: 'v1/download/url/get',
      mayHaveExecuted: true,
    });
  });

  it('fails in the stream if no chunk comes for bodyMs', async () => {
    const { baseUrl } = await serve((response) => response.writeHead(200, { 'content-length': 10 }).write('abc'));
    const { body } = await connectTo(baseUrl, { bodyMs: 100 }).download({ ticket });
    expect(await failureOf(readAll(body))).toMatchObject({ code: 'REQUEST_TIMEOUT' });
  });

  it('applies backpressure to the service while nobody reads, so that memory stays flat', async () => {
    let sentBytes = 0;
    const baseUrl = await serveRaw((request, response) => {
      request.resume();
      const chunk = Buffer.alloc(64 * 1024);
      const send = (): void => {
        while (sentBytes < 200_000_000) {
          sentBytes += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', send);
        }
        response.end();
      };
      send();
    });
    const { body } = await connectTo(baseUrl).download({ ticket });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(sentBytes).toBeLessThan(30_000_000);
    expect(body.readableLength).toBeLessThan(2_000_000);
    body.destroy();
  });

  it('ends the stream and the connection when the signal is aborted', async () => {
    let connectionClosed: Promise<unknown> | undefined;
    const baseUrl = await serveRaw((request, response) => {
      connectionClosed = closing(request.socket);
      request.resume();
      response.writeHead(200, { 'content-length': 10 }).write('abc');
    });
    const stop = new AbortController();
    const { body } = await connectTo(baseUrl).download({ ticket, signal: stop.signal });
    setTimeout(() => stop.abort(new Error('cancelled')), 50);
    expect(await failureOf(readAll(body))).toMatchObject({ code: 'REQUEST_ABORTED', cause: new Error('cancelled') });
    await connectionClosed;
  });

  it.each(['text/plain', 'application/json'])(
    'closes the connection when a body of type %s is not wanted',
    async (type) => {
      let connectionClosed: Promise<unknown> | undefined;
      const baseUrl = await serveRaw((request, response) => {
        connectionClosed = closing(request.socket);
        request.resume();
        response.writeHead(200, { 'content-type': type }).write('x'.repeat(100_000));
      });
      (await connectTo(baseUrl).download({ ticket })).body.destroy();
      await connectionClosed;
    },
  );
});

it('downloadUrl returns the ticket', async () => {
  const { baseUrl } = await serve((response) =>
    sendJson(response, {
      result: {
        output: {
          connector: 'd',
          name: 'a.pdf',
          size: '120',
          expires_at: '2026-03-01 12:00:00',
          url: '/v1/download/url/get',
        },
      },
    }),
  );
  expect(await connectTo(baseUrl).downloadUrl({ connector: 'c' })).toEqual({
    connector: 'd',
    size: 120,
    url: '/v1/download/url/get',
  });
});
