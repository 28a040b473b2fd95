import { readdir, stat } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { until } from '../../../../test/support/until';
import { openRequest, parseAnswer, serviceOfAllTests, tinyPng, toBytes, uploadHead } from '../support';

/** What uploads and downloads keep, refuse, and never write to disk. */

const maxUploadBytes = 64 * 1024;
const running = serviceOfAllTests({ maxUploadBytes, allowRemote: true });
const { client } = running;

const uploads = (): Promise<string[]> => readdir(path.join(running.dataDir, 'uploads'));

describe('upload/file', () => {
  it.each([
    ['../../../etc/evil.png', 'evil.png'],
    ['..\\..\\evil.png', 'evil.png'],
    ['/abs/olute.png', 'olute.png'],
    ['.png', 'file.png'],
    ['line\u0000break\n.png', /^line.*\.png$/],
    [`${'x'.repeat(400)}.png`, /^x{200}\.png$/],
    ['Holiday.PNG', 'Holiday.PNG'],
    ['right\u200fto\u202eleft\u2028line\u2029.png', 'right_to_left_line_.png'],
  ])('stores a file named %j under its task id and nowhere else', async (name, expected) => {
    const before = await uploads();
    const { output } = await client.post('upload/file', {}, { name, data: tinyPng });
    expect(output.name).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected));
    const added = (await uploads()).filter((entry) => !before.includes(entry));
    expect(added).toEqual([output.connector]);
    const stored = await stat(path.join(running.dataDir, 'uploads', added[0] ?? ''));
    expect([stored.size, stored.mode & 0o077]).toEqual([tinyPng.length, 0]);
  });

  it.each([
    ['EMPTY_FILE', { name: 'a.png', data: '' }, 'empty'],
    [
      'LIMIT_UPLOAD_SIZE',
      { name: 'a.png', data: 'x'.repeat(maxUploadBytes + 1) },
      'larger than 64 KB: the request has 64.',
    ],
    ['NOT_VALID_EXTENSION', { name: 'a.exe', data: 'x' }, 'exe'],
    ['NOT_VALID_EXTENSION', { name: 'noextension', data: 'x' }, 'extension'],
  ])('answers %s with HTTP 200 and keeps nothing', async (code, file, subject) => {
    const before = await uploads();
    const { status, error } = await client.post('upload/file', {}, file);
    expect([status, error.code]).toEqual([200, code]);
    expect(error.message).toContain(subject);
    expect(await uploads()).toEqual(before);
  });

  it('refuses a file that is far too large before it has arrived', async () => {
    const { request, answer } = openRequest(client, 'upload/file', { headers: { 'content-length': 3 * 1024 ** 3 } });
    request.write(`${uploadHead(client)}its first bytes`);
    const { status, body } = await answer;
    request.destroy();
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({
      result: {
        error: {
          code: 'LIMIT_UPLOAD_SIZE',
          message: 'The uploaded file is larger than 64 KB: the request has 3145728 KB.',
        },
      },
    });
  });

  it('accepts the file before the field data', async () => {
    const form = new FormData();
    form.set('file', new Blob([toBytes(tinyPng)]), 'dot.png');
    form.set('data', JSON.stringify({ app: client.app.appId }));
    expect((await parseAnswer(await client.send('upload/file', { body: form }))).output.name).toBe('dot.png');
  });

  it.each([
    ['without data', undefined, 'file', 'MISSING_REQUIRED_FIELD'],
    ['with broken data', '{', 'file', 'INVALID_FIELD'],
    ['with the file under another name', 'ok', 'document', 'INVALID_FIELD'],
  ])('refuses an upload %s and keeps nothing', async (_title, data, fileField, code) => {
    const before = await uploads();
    const form = new FormData();
    if (data !== undefined) form.set('data', data === 'ok' ? JSON.stringify({ app: client.app.appId }) : data);
    form.set(fileField, new Blob([toBytes(tinyPng)]), 'dot.png');
    const { status, error } = await parseAnswer(await client.send('upload/file', { body: form }));
    expect([[status, error.code], await uploads()]).toEqual([[400, code], before]);
  });

  it('refuses a field without a name', async () => {
    const body =
      '--b\r\ncontent-disposition: form-data\r\n\r\nx\r\n' +
      `--b\r\ncontent-disposition: form-data; name="data"\r\n\r\n${JSON.stringify({ app: client.app.appId })}\r\n--b--\r\n`;
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    const { status, error } = await parseAnswer(await client.send('upload/file', { body, headers }));
    expect([status, error]).toEqual([
      400,
      { code: 'INVALID_FIELD', message: 'The field (without a name) is invalid.' },
    ]);
  });

  it('refuses two files', async () => {
    const before = await uploads();
    const form = new FormData();
    form.set('data', JSON.stringify({ app: client.app.appId }));
    form.append('file', new Blob([toBytes(tinyPng)]), 'a.png');
    form.append('file', new Blob([toBytes(tinyPng)]), 'b.png');
    const { status, error } = await parseAnswer(await client.send('upload/file', { body: form }));
    const message = 'The field file has the wrong type: it is there more than once.';
    expect([status, error]).toEqual([400, { code: 'WRONG_TYPE_FIELD', message }]);
    expect(await uploads()).toEqual(before);
  });

  it('answers a refused upload and the next request on the same connection', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const send = async (data?: string) => {
      const { request, answer } = openRequest(client, 'upload/file', { agent });
      request.end(`${uploadHead(client, 'a.png', data)}${'x'.repeat(5_000_000)}\r\n--b--\r\n`);
      return (await answer).status;
    };
    expect([await send('broken'), await send()]).toEqual([400, 200]);
    agent.destroy();
  });

  it('leaves nothing behind when an upload is cut off', async () => {
    const before = await uploads();
    const { request } = openRequest(client, 'upload/file', { headers: { 'content-length': 60_000 } });
    request.write(uploadHead(client) + 'x'.repeat(30_000));
    await until('it is being written', async () => (await uploads()).length === before.length + 1);
    request.destroy();
    await until('it is gone', async () => (await uploads()).length === before.length);
    expect(await uploads()).toEqual(before);
  });

  it('does not store a file without a valid token', async () => {
    const before = await uploads();
    const form = new FormData();
    form.set('file', new Blob([toBytes(tinyPng)]), 'a.png');
    const headers = { authorization: 'Bearer nobody' };
    expect((await parseAnswer(await client.send('upload/file', { body: form, headers }))).status).toBe(403);
    expect(await uploads()).toEqual(before);
  });
});

describe('downloads', () => {
  it('have size, type and a safe name', async () => {
    const { bytes, headers } = await client.convertToBytes({ name: 'Straße 7%.png', data: tinyPng }, 'webp');
    expect(headers.get('content-length')).toBe(String(bytes.length));
    expect(headers.get('content-type')).toBe('image/webp');
    const [plain, encoded] = (headers.get('content-disposition') ?? '').split('; ').slice(1);
    expect(plain).toMatch(/^filename="Stra_e 7_\.webp"$/);
    expect(encoded).toBe(`filename*=UTF-8''${encodeURIComponent('Straße 7%.webp')}`);
  });

  it('have a link with the host by which the caller reached the service', async () => {
    const converted = await client.convert({ name: 'dot.png', data: tinyPng }, 'webp');
    const linkAs = async (host: string): Promise<unknown> => {
      const headers = { host, 'content-type': 'application/x-www-form-urlencoded' };
      const { request, answer } = openRequest(client, 'download/url', { headers });
      const data = JSON.stringify({ app: client.app.appId, connector: converted.output.connector });
      request.end(new URLSearchParams({ data }).toString());
      return (JSON.parse((await answer).body) as { result: { output: { url: unknown } } }).result.output.url;
    };
    expect(await linkAs('convert.example.com')).toBe('http://convert.example.com/v1/download/url/get');
    expect(await linkAs('no host/at all')).toBe(`${client.url}/v1/download/url/get`);
  });

  it('aborted by their clients are not logged as failures', async () => {
    const converted = await client.convert({ name: 'dot.png', data: tinyPng }, 'webp');
    const { output } = await client.post('download/url', { connector: converted.output.connector });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const data = JSON.stringify({ app: client.app.appId, connector: output.connector });
    for (let count = 0; count < 20; count += 1) {
      const { request } = openRequest(client, 'download/url/get', { headers });
      await new Promise<void>((sent) => request.end(new URLSearchParams({ data }).toString(), sent));
      for (let turn = 0; turn < count; turn += 1) await setImmediate();
      request.destroy();
    }
    await client.download(converted.output.connector ?? '');
    expect(running.logged.filter((line) => line.includes('failed'))).toEqual([]);
  });
});
