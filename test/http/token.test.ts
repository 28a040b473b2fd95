import { inspect } from 'node:util';
import { openConversionApi } from '../../src/http/client';
import { appId, closeAll, connectTo, failureOf, readAll, readForm, sendJson, serve, serveTcp, token } from './loopback';

afterEach(closeAll);

const hexOf = (character: string) => character.charCodeAt(0).toString(16).toUpperCase();
const ticketFor = (url: string) => ({ connector: 'c', url });

describe('the token', () => {
  it('is sent to the service as a bearer token, and nowhere else in the request', async () => {
    const { baseUrl, seen } = await serve((response) =>
      sendJson(response, { entity: { id: 't', status: 'running' }, result: {} }),
    );
    await connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf' });
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${token}`);
    expect(`${seen[0]?.url ?? ''}${seen[0]?.body.toString() ?? ''}`).not.toContain(token);
  });

  it.each(['', '  ', 'two words', 'line\r\nx-injected: 1', 'schlüssel'])(
    'is rejected before anything is sent when it is %j',
    async (bad) => {
      const { baseUrl, seen } = await serve((response) => sendJson(response, {}));
      const api = openConversionApi({ baseUrl, appId, token: bad });
      const error = await failureOf(api.taskResponse({ connector: 'c' }));
      await api.close();
      expect(error).toMatchObject({ code: 'INVALID_REQUEST', mayHaveExecuted: false });
      if (bad.trim() !== '') expect(inspect(error)).not.toContain(bad);
      expect(seen).toHaveLength(0);
    },
  );
});

describe('a service that echoes the token', () => {
  const echoes: [string, Parameters<typeof serve>[0]][] = [
    [
      'in an error',
      (response) => sendJson(response, { error: { code: 'INVALID_CREDENTIAL', message: `No ${token}` } }, 403),
    ],
    ['in an error code', (response) => sendJson(response, { result: { error: { code: token, message: token } } })],
    ['in a page', (response) => response.writeHead(500, { 'content-type': 'text/html' }).end(`<p>${token}</p>`)],
    ['in a header', (response) => response.writeHead(500, { 'content-type': `text/${token}` }).end('x')],
    ['in JSON of another shape', (response) => sendJson(response, { token, nested: { token } })],
    ['in a redirect', (response) => response.writeHead(302, { location: `http://example.com/?t=${token}` }).end()],
  ];

  it.each(echoes)('%s does not get it into the error', async (_where, answer) => {
    const error = await failureOf(connectTo((await serve(answer)).baseUrl).taskResponse({ connector: 'c' }));
    expect(inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error) + (error.stack ?? '')).not.toContain(
      token,
    );
  });

  const percent = (text: string) => text.replace(/[^A-Za-z0-9]/g, (each) => `%${hexOf(each)}`);
  const spellings: [string, string][] = [
    ['percent-encoded', percent(token)],
    ['percent-encoded twice', percent(percent(token))],
    ['percent-encoded, letters too', token.replace(/./g, (each) => `%${hexOf(each)}`)],
    ['escaped for HTML by number', token.replace(/[^A-Za-z0-9]/g, (each) => `&#${each.charCodeAt(0)};`)],
    ['escaped for HTML in hexadecimal', token.replace(/./g, (each) => `&#x${hexOf(each)};`)],
    ['escaped for JSON', token.replace(/[^A-Za-z0-9]/g, (each) => `\\u00${hexOf(each)}`)],
    ['in upper case', token.toUpperCase()],
    ['in base64, as the Authorization header', Buffer.from(`Bearer ${token}`).toString('base64')],
    ['in base64 with the App ID', Buffer.from(`${appId}:${token}`).toString('base64url')],
    ['in hexadecimal', Buffer.from(token).toString('hex')],
  ];

  it.each(spellings)('%s does not get it into the error', async (_how, echo) => {
    const { baseUrl } = await serve((response, { url }) =>
      url.endsWith('formats')
        ? response.writeHead(502, { 'content-type': 'text/html' }).end(`<p>${echo}</p>`)
        : sendJson(response, { error: { code: 'INVALID_CREDENTIAL', message: `No ${echo}.` } }, 403),
    );
    const api = connectTo(baseUrl);
    const [error, page] = await Promise.all([
      failureOf(api.taskResponse({ connector: 'c' })),
      failureOf(api.formats({ sublist: 'inputs' })),
    ]);
    expect(`${error.message} ${page.message}`).toMatch(/No (\w{0,70})\[token\]={0,2}\. .*<p>\1\[token\]/);
  });

  it('where a page is cut does not get the beginning of it into the error', async () => {
    const beginning = token.slice(0, 8);
    for (let length = 1900; length < 2600; length += 5) {
      const { baseUrl } = await serve((response) => response.writeHead(502).end(`${' '.repeat(length)}${token} not`));
      expect((await failureOf(connectTo(baseUrl).taskResponse({ connector: 'c' }))).message).not.toContain(beginning);
    }
  });

  it('in an answer that is not HTTP does not get it into the error', async () => {
    const baseUrl = await serveTcp((socket) => socket.once('data', (request) => socket.end(request)));
    const error = await failureOf(connectTo(baseUrl).taskResponse({ connector: 'c' }));
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(token);
  });
});

it('control characters from the service do not reach a message', async () => {
  const { baseUrl } = await serve((response) =>
    sendJson(response, {
      result: { error: { code: 'FAILED_CONVERT', message: 'bad\r\n2026 INFO all is well\u001b[2J' } },
    }),
  );
  expect((await failureOf(connectTo(baseUrl).downloadUrl({ connector: 'c' }))).message).not.toMatch(/\p{Cc}/u);
});

describe('a download link', () => {
  const bytes = Buffer.from('converted');

  const own = '/v1/download/url/get';
  it.each([
    ['the endpoint’s own when the ticket has none', '', () => undefined, own],
    ['relative to the base URL', '', () => own.slice(1), own],
    ['a bare path', '', () => own, own],
    ['a path with a query', '', () => `${own}?part=1`, `${own}?part=1`],
    ['absolute and on the service’s own origin', '', (baseUrl: string) => `${baseUrl}/files/7`, '/files/7'],
    ['a bare path, below the prefix of the base URL', '/gateway/', () => own, `/gateway${own}`],
    ['a path with the prefix of the base URL', '/gateway/', () => `/gateway${own}`, `/gateway${own}`],
    ['relative to a base URL with a prefix', '/gateway/', () => own.slice(1), `/gateway${own}`],
  ])('%s is posted to with token and App ID', async (_what, prefix, urlAt, path) => {
    const { baseUrl, seen } = await serve((response) => response.end(bytes));
    const url = urlAt(baseUrl);
    const { body } = await connectTo(baseUrl + prefix).download({ ticket: { connector: 'c', ...(url && { url }) } });
    expect(await readAll(body)).toEqual(bytes);
    expect(seen[0]).toMatchObject({ method: 'POST', url: path });
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${token}`);
    expect((await readForm(seen[0])).data).toEqual({ app: appId, connector: 'c' });
  });

  const anonymous = (seen: { method: string; headers: Record<string, unknown>; body: Buffer } | undefined) => {
    expect([seen?.method, seen?.headers['authorization']]).toEqual(['GET', undefined]);
    expect(JSON.stringify(seen?.headers) + (seen?.body.toString() ?? '')).not.toMatch(new RegExp(`${token}|${appId}`));
  };

  it.each([
    ['another origin', (url: string) => url],
    ['another origin without a scheme', (url: string) => url.replace('http:', '')],
    ['another origin behind a user name that looks like ours', (url: string) => url.replace('//', '//127.0.0.1@')],
  ])('to %s is fetched without token and App ID', async (_what, rewrite) => {
    const storage = await serve((response) => response.end(bytes));
    const service = await serve((response) => response.end('wrong'));
    const ticket = ticketFor(rewrite(`${storage.baseUrl}/bucket/result?signature=s`));
    expect(await readAll((await connectTo(service.baseUrl).download({ ticket })).body)).toEqual(bytes);
    anonymous(storage.seen[0]);
    expect([storage.seen[0]?.url, service.seen.length]).toEqual(['/bucket/result?signature=s', 0]);
  });

  it.each([302, 307])(
    "that redirects (%i) is followed without token and App ID, even on the service's own origin",
    async (status) => {
      const storage = await serve((response, { url }) =>
        url === '/first' ? response.writeHead(status, { location: '/second' }).end() : response.end(bytes),
      );
      const service = await serve((response, { method }) =>
        method === 'POST'
          ? response.writeHead(status, { location: '/next' }).end()
          : response.writeHead(status, { location: `${storage.baseUrl}/first` }).end(),
      );
      const { body } = await connectTo(service.baseUrl).download({ ticket: { connector: 'c' } });
      expect([await readAll(body), service.seen.map(({ method }) => method)]).toEqual([bytes, ['POST', 'GET']]);
      anonymous(service.seen[1]);
      for (const request of storage.seen) anonymous(request);
    },
  );

  it('that redirects for ever is given up', async () => {
    const { baseUrl, seen } = await serve((response) => response.writeHead(302, { location: '/again' }).end());
    expect((await failureOf(connectTo(baseUrl).download({ ticket: { connector: 'c' } }))).code).toBe('HTTP_302');
    expect(seen).toHaveLength(6);
  });

  it.each(['file:///etc/passwd', 'ftp://example.com/x', 'http://[', 'data:text/plain,x'])(
    '%s is rejected',
    async (url) => {
      const { baseUrl } = await serve((response) => response.end(bytes));
      const error = await failureOf(connectTo(baseUrl).download({ ticket: ticketFor(url) }));
      expect(error).toMatchObject({ code: 'UNREADABLE_RESPONSE', mayHaveExecuted: false });
    },
  );

  it.each(['http://[', 'http://a b/', 'https://:0:0/'])('that redirects to %s is rejected', async (location) => {
    const { baseUrl } = await serve((response) => response.writeHead(302, { location }).end());
    const error = await failureOf(connectTo(baseUrl).download({ ticket: { connector: 'c' } }));
    expect(error).toMatchObject({ code: 'UNREADABLE_RESPONSE', mayHaveExecuted: false });
  });

  it('that would leave TLS is rejected', async () => {
    const error = await failureOf(
      connectTo('https://127.0.0.1:1').download({ ticket: ticketFor('http://storage.example/x') }),
    );
    expect(error.code).toBe('UNREADABLE_RESPONSE');
  });

  it.each(['169.254.169.254', '[::ffff:169.254.169.254]', '[fd00:ec2::254]', '2852039166'])(
    'to %s, where a cloud keeps its metadata, is not followed',
    async (host) => {
      const error = await failureOf(
        connectTo('http://127.0.0.1:1').download({ ticket: ticketFor(`http://${host}/latest/meta-data/`) }),
      );
      expect(error).toMatchObject({ code: 'UNREADABLE_RESPONSE', mayHaveExecuted: false });
    },
  );

  it('to another host is not in the error when that host refuses', async () => {
    const storage = await serve((response) => response.writeHead(403).end('<Error>signature=s3cr3t</Error>'));
    const { baseUrl } = await serve((response) => response.end());
    const error = await failureOf(
      connectTo(baseUrl).download({ ticket: ticketFor(`${storage.baseUrl}/x?signature=s3cr3t`) }),
    );
    expect(error.code).toBe('HTTP_403');
    expect(inspect(error, { depth: 10 })).not.toContain('s3cr3t');
  });
});

describe('the base URL', () => {
  it.each(['', 'api.vertopal.com', 'ftp://x', 'https://user:password@x/'])('%j is rejected', (baseUrl) => {
    expect(() => openConversionApi({ baseUrl, appId, token })).toThrow(TypeError);
    expect(() => openConversionApi({ baseUrl, appId, token })).not.toThrow('password@');
  });

  it.each(['', '/', '/gateway', '/gateway/'])('may end with %j', async (suffix) => {
    const { baseUrl, seen } = await serve((response) => sendJson(response, { result: { output: { formats: [] } } }));
    await connectTo(baseUrl + suffix).formats({ sublist: 'inputs' });
    expect(seen[0]?.url).toBe(`${suffix.replace(/\/$/, '')}/v1/convert/formats`);
  });
});
