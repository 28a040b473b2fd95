import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { RateLimiter } from '../../src/http/admission';
import { createApp, openRequest, parseAnswer, serviceOfAllTests, TestClient, tinySvg, uploadHead } from '../support';

/** Section "Limits" of the document. */

describe('a rate limiter', () => {
  const create = () => {
    let now = 1_000;
    const limiter = new RateLimiter(() => now);
    const take = (limit = 2, windowSeconds = 10, key = 'a') => limiter.take(key, { limit, windowSeconds });
    return { take, pass: (ms: number) => (now += ms) };
  };

  it('counts down to 0 and then refuses, without counting refused requests', () => {
    const { take } = create();
    expect(take()).toEqual({ limit: 2, remaining: 1, resetSeconds: 10, exceeded: false });
    expect(take()).toEqual({ limit: 2, remaining: 0, resetSeconds: 10, exceeded: false });
    expect(take()).toEqual({ limit: 2, remaining: 0, resetSeconds: 10, exceeded: true });
    expect(take(4)).toMatchObject({ remaining: 1, exceeded: false });
  });

  it('rounds the seconds up, so that a client that waits gets a whole window', () => {
    const { take, pass } = create();
    take();
    take();
    pass(9_001);
    expect(take()).toMatchObject({ resetSeconds: 1, exceeded: true });
    pass(998);
    expect(take()).toMatchObject({ resetSeconds: 1, exceeded: true });
    pass(1);
    expect(take()).toEqual({ limit: 2, remaining: 1, resetSeconds: 10, exceeded: false });
  });

  it('starts a window with the first request after the previous window', () => {
    const { take, pass } = create();
    take();
    pass(25_000);
    expect(take()).toMatchObject({ remaining: 1, resetSeconds: 10 });
  });

  it('applies a changed limit or window at once', () => {
    const { take } = create();
    take();
    take();
    expect(take(3)).toMatchObject({ limit: 3, remaining: 0, exceeded: false });
    expect(take(1)).toMatchObject({ limit: 1, remaining: 0, exceeded: true });
    expect(take(5, 2)).toMatchObject({ remaining: 1, resetSeconds: 2 });
  });

  it('keeps windows apart, and its memory bounded', () => {
    const { take } = create();
    take(2, 10, 'b');
    expect(take()).toMatchObject({ remaining: 1 });
    for (let key = 0; key < 30_000; key += 1) take(2, 10, String(key));
    // The oldest windows were evicted.
    expect(take(2, 10, 'b')).toMatchObject({ remaining: 1 });
    expect(take(2, 10, '29999')).toMatchObject({ remaining: 0 });
  });
});

describe('the service', () => {
  const testApp = createApp();
  const running = serviceOfAllTests({ apps: [createApp('other').app, testApp.app] }, testApp);
  const { client } = running;

  /** Defines an app in the accounts file, because the limits there apply only to apps of the file. */
  async function limit(limits: string, anonymous = ''): Promise<TestClient> {
    const app = createApp('limited');
    const text = `${anonymous}\n[apps.limited]\napp_id = "${app.app.appId}"\ntoken_sha256 = "${String(app.app.tokenSha256)}"\n[apps.limited.rate_limits]\n${limits}\n`;
    const file = path.join(running.dataDir, 'accounts.toml');
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
    expect(await running.service.reloadAccounts()).toBe(true);
    return new TestClient(running.client.url, app);
  }

  const formats = { parameters: { format: 'pdf' } };
  const readHeaders = (headers: Headers) =>
    ['limit', 'remaining', 'reset'].map((name) => {
      const text = headers.get(`x-ratelimit-${name}`) ?? 'missing';
      return /^\d+$/.test(text) ? Number(text) : text;
    });

  it('sends the three headers with every kind of answer, including files and server errors', async () => {
    const { output } = await client.convert({ name: 'logo.svg', data: tinySvg }, 'png');
    const answers = [
      (await client.download(output.connector ?? '')).headers,
      (await client.send('convert/file', { body: 'no form' })).headers,
      (await client.post('task/response', { x: 'y'.repeat(2_000_000) })).headers,
      (await client.post('upload/file', {}, { name: 'a.exe', data: 'x' })).headers,
      (await client.send('convert/nothing', { body: 'x'.repeat(2_000_000) })).headers,
      (await fetch(`${client.url}/v1/%zz`)).headers,
      (await fetch(client.url)).headers,
    ];
    for (const headers of answers) {
      const [limitOf = 0, remaining, reset] = readHeaders(headers).map(Number);
      expect(remaining).toBeGreaterThanOrEqual(0);
      expect(remaining).toBeLessThan(limitOf);
      expect(reset).toBeGreaterThan(0);
    }
  });

  it('tells in the message of a 429 how long to wait', async () => {
    const limited = await limit('window_seconds = 60\ninfo = 1');
    await limited.post('format/get', formats);
    const refused = await limited.post('format/get', formats);
    const wait = refused.headers.get('retry-after') ?? '';
    expect(refused.error.message).toBe(`Rate limit exceeded; retry after ${wait} seconds.`);
    expect(wait).toMatch(/^(60|[1-5]?\d)$/);
  });

  it('counts each class of endpoints and each app separately', async () => {
    const limited = await limit('upload = 1\nsubmit = 1\npoll = 1\ndownload = 1\ninfo = 1');
    const classes = [
      ['upload/file'],
      ['convert/file'],
      ['task/response', 'convert/status'],
      ['download/url', 'download/url/get'],
      ['format/get', 'convert/formats', 'convert/graph'],
    ];
    for (const endpoints of classes) {
      const [first = ''] = endpoints;
      expect((await limited.post(first)).status).toBe(400);
      for (const endpoint of endpoints)
        expect([endpoint, (await limited.post(endpoint)).status]).toEqual([endpoint, 429]);
    }
    expect((await client.post('format/get', formats)).status).toBe(200);
  });

  it('counts requests without a valid token by address, including unknown paths, without limiting apps', async () => {
    await limit('', '[anonymous]\nwindow_seconds = 60\nrequests = 3');
    const statuses = [];
    for (const [pathname, method] of [
      ['v1/nothing', 'POST'],
      ['v1/convert/file', 'GET'],
      ['v1/convert/file', 'POST'],
      ['v1/convert/file', 'POST'],
      ['v1/%zz', 'GET'],
    ]) {
      const response = await fetch(`${client.url}/${pathname ?? ''}`, { method: method ?? '' });
      statuses.push((await parseAnswer(response)).status);
    }
    // Requests of other tests from this address count as well.
    expect([statuses.slice(-2), (await client.post('format/get', formats)).status]).toEqual([[429, 429], 200]);
  });

  it('refuses an upload over the limit without waiting for its file', async () => {
    const limited = await limit('upload = 1');
    await limited.post('upload/file', {}, { name: 'a.svg', data: tinySvg });
    const { request, answer } = openRequest(limited, 'upload/file', { headers: { 'content-length': 999_999 } });
    // The file is never sent.
    request.write(uploadHead(limited));
    const { status } = await answer;
    request.destroy();
    expect(status).toBe(429);
  });
});
