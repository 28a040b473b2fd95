import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createS3Files } from '../../src/s3';
import { createHttpsFiles } from '../../src/storage/https';
import { openConversionApi } from '../../src/http/client';
import { proxyFor } from '../../src/network/proxy';
import { startStubService, stubAppId, stubToken, type StubService } from '../support/stub-service';

const proxies = { HTTPS_PROXY: 'http://proxy.test:3128', http_proxy: 'plain.test:8080' };
const through = (url: string, variables: Record<string, string> = proxies) => proxyFor(new URL(url), variables)?.href;

describe('proxyFor', () => {
  it('reads each variable in either case, with or without a scheme, by the protocol of the URL', () => {
    expect(through('https://api.test/v1')).toBe('http://proxy.test:3128/');
    expect(through('http://api.test/v1')).toBe('http://plain.test:8080/');
    expect(through('https://api.test', { https_proxy: 'https://a.test' })).toBe('https://a.test/');
    expect(through('https://api.test', { http_proxy: 'http://a.test' })).toBeUndefined();
    expect(through('https://api.test', { HTTPS_PROXY: '' })).toBeUndefined();
  });

  it.each([
    'http://localhost:7233',
    'https://127.0.0.1',
    'http://127.8.9.1',
    'https://[::1]:8443',
    'http://a.localhost',
  ])('returns no proxy for %s, whatever the variables say', (url) => expect(through(url)).toBeUndefined());

  it.each([
    ['api.test', 'https://api.test', true],
    ['other.test, api.test', 'https://v1.api.test', true],
    ['.api.test', 'https://v1.api.test', true],
    ['*.API.test', 'https://v1.api.test', true],
    ['*', 'https://api.test', true],
    ['api.test:8443', 'https://api.test:8443', true],
    ['api.test:8443', 'https://api.test', false],
    ['api.test:443', 'https://api.test', true],
    ['pi.test', 'https://api.test', false],
    ['10.0.0.0/8', 'https://10.1.2.3', true],
    ['10.0.0.0/8', 'https://11.1.2.3', false],
    ['10.1.2.3', 'https://10.1.2.3', true],
    ['fd00::/8', 'https://[fd00::5]', true],
    ['fd00::5', 'https://[fd00::5]:99', true],
    ['', 'https://api.test', false],
  ])('NO_PROXY=%j and %s: exempt is %p', (exempt, url, isExempt) => {
    for (const name of ['NO_PROXY', 'no_proxy']) {
      expect(through(url, { ...proxies, [name]: exempt }) === undefined).toBe(isExempt);
    }
  });
});

describe('with a proxy in the environment', () => {
  const before = { ...process.env };
  let stub: StubService;
  let proxy: Server;
  let tunnels: string[];

  beforeEach(async () => {
    stub = await startStubService();
    tunnels = [];
    proxy = createServer((_request, response) => response.writeHead(500).end());
    // Every tunnel leads to the stub, whatever its host.
    proxy.on('connect', ({ url = '' }, socket: Socket) => {
      tunnels.push(url);
      const upstream = connect(Number(new URL(stub.url).port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      for (const each of [upstream, socket]) each.on('error', () => upstream.destroy());
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    process.env['HTTP_PROXY'] = process.env['HTTPS_PROXY'] = `http://127.0.0.1:${port}`;
    process.env['NO_PROXY'] = process.env['no_proxy'] = '';
  });

  afterEach(async () => {
    process.env = { ...before };
    await stub.close();
    proxy.closeAllConnections();
    proxy.close();
  });

  const apiOf = (baseUrl: string) => openConversionApi({ baseUrl, appId: stubAppId, token: stubToken });

  it('reaches a service through it, and one on loopback directly', async () => {
    const far = apiOf('http://conversion.invalid');
    expect(await far.taskResponse({ connector: 'c' })).toMatchObject({ outputStatus: 'successful' });
    expect(tunnels).toEqual(['conversion.invalid:80']);
    expect(stub.requests[0]?.token).toBe(stubToken);
    const near = apiOf(stub.url);
    await near.taskResponse({ connector: 'c' });
    expect(tunnels).toHaveLength(1);
    await Promise.all([far.close(), near.close()]);
  });

  it('bypasses it for hosts in NO_PROXY', async () => {
    process.env['NO_PROXY'] = 'conversion.invalid';
    const api = apiOf('http://conversion.invalid');
    await expect(api.taskResponse({ connector: 'c' })).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' });
    expect(tunnels).toEqual([]);
    await api.close();
  });

  it('reads sources and S3 through it, but still no address that is not public', async () => {
    await createHttpsFiles({ plainHttp: true }).look('http://files.invalid/a.md');
    const s3 = createS3Files({ endpoint: 'http://objects.invalid', region: 'eu-north-1' });
    process.env['AWS_ACCESS_KEY_ID'] = process.env['AWS_SECRET_ACCESS_KEY'] = 'x';
    await s3.look('s3://bucket/a.md').catch(() => undefined);
    expect(new Set(tunnels)).toEqual(new Set(['files.invalid:80', 'objects.invalid:80']));
    const guarded = createHttpsFiles({
      plainHttp: true,
      resolve: () => Promise.resolve([{ address: '10.0.0.7', family: 4 }]),
    });
    await expect(guarded.openSource('http://intranet.test/a.md')).rejects.toMatchObject({ code: 'UNSUPPORTED_URI' });
    expect(tunnels.some((host) => host.startsWith('intranet'))).toBe(false);
  });
});
