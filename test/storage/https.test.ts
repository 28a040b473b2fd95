import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FileStore } from '../../src/storage/file-store';
import { createHttpsFiles, type HttpsFilesOptions } from '../../src/storage/https/index';
import { cleanUp, failureOf, onCleanUp } from './folder';

afterEach(cleanUp);

/** A server on loopback that counts its connections, and a store that may read it by default. */
async function serve(listener: RequestListener, options: HttpsFilesOptions = {}) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanUp(() => server.close().closeAllConnections());
  let connections = 0;
  server.on('connection', () => (connections += 1));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    connections: () => connections,
    store: createHttpsFiles({ plainHttp: true, allowedHosts: ['127.0.0.1'], stallMs: 1_000, ...options }),
  };
}

const answering =
  (body: string, headers: Record<string, string | number> = {}, status = 200): RequestListener =>
  (_request, response) =>
    response.writeHead(status, { 'content-length': body.length, ...headers }).end(body);

const read = async (store: FileStore, url: string) => text((await store.openSource(url)).open());

describe('a source', () => {
  it('has the name and the bytes of its URL, and can be read repeatedly', async () => {
    const { store, url } = await serve(answering('content', { etag: '"1"' }));
    const source = await store.openSource(`${url}/docs/a%20b.md?signature=secret`);
    expect([source.name, source.size, source.stamp]).toEqual(['a b.md', 7, '"1"']);
    for (let time = 0; time < 2; time += 1) expect(await text(source.open())).toBe('content');
    expect(await text(store.read(`${url}/a.md`, { start: 3 }))).toBe('tent');
    expect(await store.look(`${url}/a.md`)).toMatchObject({ kind: 'file', bytes: 7, stamp: '"1"' });
  });

  it('takes its size from the Content-Range of a server that honours the one-byte range', async () => {
    const { store, url } = await serve((request, response) => {
      const isRange = request.headers.range === 'bytes=0-0';
      if (isRange) response.writeHead(206, { 'content-range': 'bytes 0-0/7', 'content-length': 1 }).end('c');
      else response.writeHead(200, { 'content-length': 7 }).end('content');
    });
    expect(await read(store, `${url}/a.md`)).toBe('content');
  });

  it.each([
    ['its ETag', (version: number) => ({ etag: `W/"${version}"` })],
    ['the time of its last change', (version: number) => ({ 'last-modified': new Date(version * 1e6).toUTCString() })],
  ])('fails with SOURCE_CHANGED if %s changes before it is read', async (_title, headersOf) => {
    let version = 1;
    const { store, url } = await serve((request, response) =>
      answering('content', headersOf(version))(request, response),
    );
    const source = await store.openSource(`${url}/a.md`);
    version = 2;
    expect(await failureOf(text(source.open()))).toMatchObject({ code: 'SOURCE_CHANGED', retryable: true });
  });

  it('is requested with a strong ETag as If-Match, so that the server sends no other version', async () => {
    const conditions: unknown[] = [];
    const { store, url } = await serve((request, response) => {
      conditions.push(request.headers['if-match']);
      answering('content', { etag: '"1"' }, request.headers['if-match'] ? 412 : 200)(request, response);
    });
    const source = await store.openSource(`${url}/a.md`);
    expect(await failureOf(text(source.open()))).toMatchObject({ code: 'SOURCE_CHANGED' });
    expect(conditions).toEqual([undefined, '"1"']);
  });
});

describe('refusals', () => {
  const length = { 'content-length': 7 };

  it.each<[title: string, status: number, headers: Record<string, string | number>, code: string, retryable: boolean]>([
    ['nothing there', 404, length, 'SOURCE_NOT_FOUND', false],
    ['a signature that has expired', 403, length, 'SOURCE_UNREADABLE', false],
    ['a server that is busy', 503, length, 'STORAGE_FAILED', true],
    ['a page that asks to log in', 200, { ...length, 'content-type': 'text/html' }, 'SOURCE_UNREADABLE', false],
    ['a body without a length', 200, { 'transfer-encoding': 'chunked' }, 'SOURCE_UNREADABLE', false],
    ['more bytes than allowed', 200, { 'content-length': 101 }, 'SOURCE_UNREADABLE', false],
    ['an empty file', 200, { 'content-length': 0 }, 'SOURCE_EMPTY', false],
  ])('%s (%i) gives a one-line message without the query', async (_title, status, headers, code, retryable) => {
    const body = headers['content-length'] === 0 ? '' : 'content';
    const { store, url } = await serve((_request, response) => response.writeHead(status, headers).end(body), {
      maxBytes: 100,
    });
    const failure = await failureOf(store.openSource(`${url}/a.docx?signature=secret`));
    expect(failure).toMatchObject({ code, retryable });
    expect(failure.message).toMatch(new RegExp(`^Cannot (read|convert) ${url}/a\\.docx: [^\\n]+\\.$`));
    expect(JSON.stringify([failure, failure.message])).not.toContain('secret');
  });

  it('a body that stalls or breaks off is STORAGE_FAILED', async () => {
    let isHanging = true;
    const { store, url } = await serve((request, response) => {
      response.writeHead(200, { 'content-length': 7 });
      if (request.headers.range) response.end('content');
      else response.write('con', () => isHanging || response.destroy());
    });
    for (const hanging of [true, false]) {
      isHanging = hanging;
      const source = await store.openSource(`${url}/a.md`);
      expect(await failureOf(text(source.open()))).toMatchObject({ code: 'STORAGE_FAILED', retryable: true });
    }
  });

  it('a body that drips is STORAGE_FAILED long before its end', async () => {
    const { store, url } = await serve((request, response) => {
      response.writeHead(200, { 'content-length': 1_000 });
      if (request.headers.range) response.end('x'.repeat(1_000));
      else {
        const timer = setInterval(() => response.write('x'), 100);
        response.once('close', () => clearInterval(timer));
      }
    });
    const failure = await failureOf(text((await store.openSource(`${url}/a.md`)).open()));
    expect(failure).toMatchObject({ code: 'STORAGE_FAILED', retryable: true });
    expect(failure.message).toMatch(/it comes too slowly: \d+ bytes in \d s\.$/);
  });

  it('a body of a different length than before is SOURCE_CHANGED, however much comes', async () => {
    const { store, url } = await serve((request, response) => {
      if (request.headers.range) response.writeHead(200, { 'content-length': 7 }).end('content');
      else if (request.url === '/short.md') response.writeHead(200, { 'content-length': 3 }).end('con');
      // Never ends.
      else response.on('drain', () => response.write('x'.repeat(65_536))).write('x'.repeat(65_536));
    });
    for (const name of ['short.md', 'endless.md']) {
      const source = await store.openSource(`${url}/${name}`);
      expect(await failureOf(text(source.open()))).toMatchObject({ code: 'SOURCE_CHANGED', retryable: true });
    }
  });

  it('writing, listing and removing are not supported', async () => {
    const store = createHttpsFiles();
    const uri = 'https://example.com/a.pdf';
    const prepared = store.prepareDestination({ uri, suggestedName: '', onExisting: 'fail' });
    expect(await failureOf(prepared)).toMatchObject({ code: 'UNSUPPORTED_URI', retryable: false });
    expect(await failureOf(store.remove(uri))).toMatchObject({ code: 'UNSUPPORTED_URI' });
  });
});

describe('connections', () => {
  it('are never made to a non-public address, however it is written or resolved', async () => {
    const { port, connections } = await serve(answering('content'));
    const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    const store = createHttpsFiles({ plainHttp: true, resolve });
    const hosts = ['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost', 'public.example'];
    for (const host of hosts) {
      const failure = await failureOf(store.openSource(`http://${host}:${port}/a.md?signature=secret`));
      expect(failure).toMatchObject({ code: 'UNSUPPORTED_URI', retryable: false });
      expect(failure.message).toMatch(/not an address of the public internet\. .*allowed_hosts/);
      expect(failure.message).not.toContain('secret');
    }
    expect(connections()).toBe(0);
  });

  it('are refused to a name if any of its addresses is not public', async () => {
    const addresses = [
      { address: '8.8.8.8', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ];
    const store = createHttpsFiles({ resolve: () => Promise.resolve(addresses) });
    expect(await failureOf(store.openSource('https://public.example/a.md'))).toMatchObject({ code: 'UNSUPPORTED_URI' });
  });

  it.each(['127.0.0.1', '[::ffff:7f00:1]', 'inner.example'])(
    'are refused after a redirect to %s, as for the first URL',
    async (host) => {
      const inner = await serve(answering('content'));
      const location = `http://${host}:${inner.port}/a.md`;
      const { port } = await serve((_request, response) => response.writeHead(302, { location }).end());
      const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      const store = createHttpsFiles({ plainHttp: true, allowedHosts: ['first.example'], resolve });
      const failure = await failureOf(store.openSource(`http://first.example:${port}/a.md`));
      expect(failure).toMatchObject({ code: 'UNSUPPORTED_URI', retryable: false });
      expect(failure.message).toMatch(/not an address of the public internet/);
      expect(inner.connections()).toBe(0);
    },
  );

  it.each(['https://127.0.0.1:99999/a.md', 'https://[fe80::1%25eth0]/a.md'])(
    'are refused to an invalid address, in the URL or in a redirect: %s',
    async (location) => {
      const { store, url } = await serve((_request, response) => response.writeHead(302, { location }).end());
      expect(await failureOf(store.openSource(location))).toMatchObject({ code: 'UNSUPPORTED_URI', retryable: false });
      expect(await failureOf(store.openSource(`${url}/a.md`))).toMatchObject({
        code: 'SOURCE_UNREADABLE',
        retryable: false,
      });
    },
  );

  it('follow at most five redirects, and only to https: unless plain http is allowed', async () => {
    const listener: RequestListener = (request, response) => {
      const left = Number(request.url?.slice(1, 2));
      if (left > 0) response.writeHead(307, { location: `/${left - 1}.md` }).end();
      else answering('content')(request, response);
    };
    const { store, url } = await serve(listener);
    expect(await read(store, `${url}/5.md`)).toBe('content');
    expect(await failureOf(store.openSource(`${url}/6.md`))).toMatchObject({ code: 'SOURCE_UNREADABLE' });
    const strict = createHttpsFiles({ allowedHosts: ['127.0.0.1'] });
    expect(await failureOf(strict.openSource(`${url}/0.md`))).toMatchObject({ code: 'UNSUPPORTED_URI' });
  });

  it('can be allowed by network or by name', async () => {
    const { port } = await serve(answering('content'));
    const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    for (const [host, allowed] of [
      ['127.0.0.1', '127.0.0.0/8'],
      ['intranet.example', 'Intranet.example'],
      ['intranet.example', '127.0.0.1'],
    ]) {
      const store = createHttpsFiles({ plainHttp: true, allowedHosts: [allowed ?? ''], resolve });
      expect(await read(store, `http://${host ?? ''}:${port}/a.md`)).toBe('content');
    }
  });

  it('are refused for a URL with a password, and no message contains the password', async () => {
    const failure = await failureOf(createHttpsFiles().openSource('https://user:secret@example.com/a.md'));
    expect(failure).toMatchObject({ code: 'UNSUPPORTED_URI' });
    expect(failure.message).not.toContain('secret');
  });

  it('fail with STORAGE_FAILED if the server does not speak HTTP', async () => {
    const server = createTcpServer((socket) => socket.end('nonsense\r\n\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onCleanUp(() => void server.close());
    const store = createHttpsFiles({ plainHttp: true, allowedHosts: ['127.0.0.1'] });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.md`;
    expect(await failureOf(store.openSource(url))).toMatchObject({ code: 'STORAGE_FAILED', retryable: true });
  });
});
