import { Readable } from 'node:stream';
import { closeAll, connectTo, readAll, sendJson, serve } from './loopback';

/** Addresses and headers as a real account's pages describe them. */

afterEach(closeAll);

const link = (url: string) => ({ connector: 'c', name: 'a.pdf', size: 3, url });

describe('the url of download/url', () => {
  it.each([
    'https://api.example.com/v1/download/url/get',
    'https://api.example.com/download/url/get',
    'http://127.0.0.1:1/v1/download/url/get',
  ])('%s names the endpoint, which is called at the base URL whatever the gateway', async (url) => {
    const { baseUrl, seen } = await serve((response) => response.writeHead(200).end('pdf'));
    const { body } = await connectTo(`${baseUrl}/gateway`).download({ ticket: link(url) });
    expect((await readAll(body)).toString()).toBe('pdf');
    expect(seen.map(({ method, url: path }) => [method, path])).toEqual([['POST', '/gateway/v1/download/url/get']]);
    expect(seen[0]?.headers.authorization).toMatch(/^Bearer /);
  });

  it('with a query is fetched from its own address, without the token', async () => {
    const storage = await serve((response) => response.writeHead(200).end('pdf'));
    const { baseUrl, seen } = await serve((response) => sendJson(response, {}));
    const url = `${storage.baseUrl}/v1/download/url/get?signature=s`;
    await readAll((await connectTo(baseUrl).download({ ticket: link(url) })).body);
    expect([seen, storage.seen[0]?.headers.authorization]).toEqual([[], undefined]);
  });
});

it('every request names client and version in User-Agent', async () => {
  const { baseUrl, seen } = await serve((response) =>
    sendJson(response, { result: { output: { connector: 'c' }, error: {}, warning: {} } }),
  );
  const api = connectTo(baseUrl);
  await api.downloadUrl({ connector: 'c' });
  await api.uploadFile({ file: { name: 'a.txt', size: 1, open: () => Readable.from([Buffer.from('a')]) } });
  expect(seen.map(({ headers }) => headers['user-agent'])).toEqual([
    expect.stringMatching(/^temporal-file-conversion\/\d+\.\d+\.\d+/),
    expect.stringMatching(/^temporal-file-conversion\/\d+\.\d+\.\d+/),
  ]);
});
