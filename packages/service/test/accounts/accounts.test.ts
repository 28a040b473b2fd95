import { createHash } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Accounts } from '../../src/accounts/accounts';
import { createApp, createDataDir, startTestService, TestClient, tinyPng, tinySvg } from '../support';

/** Permissions of an app from accounts.toml: plan, credits, development, callbacks, limits. All of them may change at run time. */

type Running = Awaited<ReturnType<typeof startTestService>>;

let running: Running;
let client: TestClient;
const testApp = createApp();
const unlimited = createApp('unlimited');
const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

beforeAll(async () => {
  const dataDir = await createDataDir();
  await writeFile(path.join(dataDir, 'accounts.toml'), accounts(''));
  // Names never resolve, so that no test calls an external host.
  const callbacks = { resolveHost: () => new Promise<never>(() => undefined), timeoutMs: 600_000 };
  running = await startTestService({ dataDir, apps: [unlimited.app], callbacks }, testApp);
  client = running.client;
});

afterAll(() => running.stop());

/** An accounts file with the app of the tests; `settings` go below it, `beside` above. */
function accounts(settings: string, beside = ''): string {
  const { appId, tokenSha256 } = testApp.app;
  return `${beside}\n[apps.test]\napp_id = "${appId}"\ntoken_sha256 = ["${tokenSha256.toString()}"]\n${settings}\n`;
}

/** Replaces the accounts file atomically, as an editor does, and makes the service reload it. */
async function configure(settings: string, beside = ''): Promise<void> {
  const file = path.join(running.dataDir, 'accounts.toml');
  await writeFile(`${file}.new`, accounts(settings, beside));
  await rename(`${file}.new`, file);
  expect(await running.service.reloadAccounts()).toBe(true);
}

async function convertTo(output: string, data: Record<string, unknown> = {}) {
  const connector = await client.upload('logo.svg', tinySvg);
  return client.post('convert/file', { connector, include: ['entity', 'result'], parameters: { output }, ...data });
}

describe('vCredits', () => {
  it('are charged by format pair on success, shown in the entity, and not charged on failure', async () => {
    await configure('vcredits = 10\n[apps.test.prices]\n"svg to png" = 3\n"svg to *" = 2\n"*" = 7');
    expect((await convertTo('png')).body.entity?.['vcredits']).toBe(3);
    expect((await convertTo('webp')).body.entity?.['vcredits']).toBe(2);
    const failed = await client.post('convert/file', {
      connector: await client.upload('cut.svg', '<svg xmlns="http://www.w3.org/2000/svg"><rect'),
      include: ['entity', 'result'],
      parameters: { output: 'png' },
    });
    expect([failed.error.code, failed.body.entity?.['vcredits']]).toEqual(['FAILED_CONVERT', 0]);
    // 10 - 3 - 2 leaves enough for a second conversion at 3, but not for a third.
    expect((await convertTo('jpg')).body.entity?.['vcredits']).toBe(2);
    expect((await convertTo('png')).body.entity?.['vcredits']).toBe(3);
    const short = await convertTo('png');
    expect([short.status, short.error.code, short.body.entity?.status]).toEqual([
      403,
      'INSUFFICIENT_VCREDITS',
      'completed',
    ]);
  });

  it('in the file are only the initial balance', async () => {
    await configure('vcredits = 1000\n[apps.test.prices]\n"*" = 1');
    expect((await convertTo('png')).error.code).toBe('INSUFFICIENT_VCREDITS');
  });
});

it('development mode accepts files with a registered hash, and refuses results from before', async () => {
  await configure('[apps.test.prices]\n"*" = 0');
  const early = await client.upload('dot.png', tinyPng);
  const { output } = await client.post('convert/file', { connector: early, parameters: { output: 'webp' } });
  await configure(
    `[apps.test.prices]\n"*" = 0\n[apps.test.development]\nsha256 = ["${sha256(tinySvg).toUpperCase()}"]`,
  );
  expect((await client.download((await convertTo('png')).output.connector ?? '')).bytes.length).toBeGreaterThan(0);
  const late = await client.post('download/url', { connector: output.connector });
  expect([late.status, late.error.code]).toEqual([403, 'ONLY_DEVELOPMENT_REQUEST']);
  await configure('[apps.test.prices]\n"*" = 0');
});

it.each([
  ['https://example.com/x', undefined],
  ['http://EXAMPLE.com:8080/', undefined],
  ['https://a.b.hooks.example.org/', undefined],
  ['https://hooks.example.org/', 'UNVERIFIED_DOMAIN_CALLBACK'],
  ['https://sub.example.com/', 'UNVERIFIED_DOMAIN_CALLBACK'],
  ['https://example.com.evil.test/', 'UNVERIFIED_DOMAIN_CALLBACK'],
  ['https://example.com@evil.test/', 'UNVERIFIED_DOMAIN_CALLBACK'],
  ['https://user:pw@example.com/', 'INVALID_CALLBACK'],
  ['https://example.com:pw@evil.test/', 'UNVERIFIED_DOMAIN_CALLBACK'],
  ['not a url', 'INVALID_CALLBACK'],
])('callback domains decide whether %s may be called back (%s)', async (callback, code) => {
  await configure('callback_domains = ["example.com", "*.hooks.example.org"]');
  expect((await client.post('format/get', { callback, parameters: { format: 'pdf' } })).error.code).toBe(code);
});

describe('limits', () => {
  it('of an app apply to the size and extension of uploads', async () => {
    await configure('[apps.test.limits]\nmax_upload_bytes = 2048\nallowed_extensions = ["TXT"]');
    expect((await client.post('upload/file', {}, { name: 'a.txt', data: 'x'.repeat(2049) })).error).toEqual({
      code: 'LIMIT_UPLOAD_SIZE',
      message: expect.stringMatching(/^The uploaded file is larger than 2 KB: the request has 2\.\d KB\.$/) as string,
    });
    expect((await client.post('upload/file', {}, { name: 'a.txt', data: 'x'.repeat(2048) })).error).toEqual({});
    const other = await client.post('upload/file', {}, { name: 'a.png', data: tinyPng });
    expect(other.error.code).toBe('NOT_VALID_EXTENSION');
  });

  it('report a deleted file as FILE_NOT_EXISTS', async () => {
    await configure('[apps.test.prices]\n"*" = 0');
    const connector = await client.upload('dot.png', tinyPng);
    await rm(path.join(running.dataDir, 'uploads', connector));
    const { status, error } = await client.post('convert/file', { connector, parameters: { output: 'webp' } });
    expect([status, error.code]).toEqual([404, 'FILE_NOT_EXISTS']);
  });
});

it('the free app is unknown unless it is enabled', async () => {
  await configure('');
  const free = new TestClient(client.url, { app: { ...testApp.app, appId: 'free' }, token: 'FREE-TOKEN' });
  const { status, error } = await free.post('format/get', { parameters: { format: 'pdf' } });
  expect([status, error.code]).toEqual([403, 'INVALID_CREDENTIAL']);
});

it('serves configured API versions besides v1, and a download link keeps the version', async () => {
  const dataDir = await createDataDir();
  await writeFile(path.join(dataDir, 'accounts.toml'), 'extra_api_versions = ["v2"]');
  const other = await startTestService({ dataDir });
  const latest = await other.client.post('../format/get', { include: ['entity'], parameters: { format: 'pdf' } });
  expect(latest.body.entity?.['endpoint']).toBe('v2/format/get');
  const upload = await other.client.post('../v2/upload/file', {}, { name: 'logo.svg', data: tinySvg });
  const data = { connector: upload.output.connector, parameters: { output: 'png' } };
  const converted = await other.client.post('../v2/convert/file', data);
  const link = await other.client.post('../v2/download/url', { connector: converted.output.connector });
  expect(link.output.url).toBe(`${other.client.url}/v2/download/url/get`);
  await other.stop();
});

describe('the accounts file', () => {
  const otherApp = '[apps.b]\napp_id = "11111111-2222-4333-8444-555555555555"\n';
  it.each([
    ['vcredits = -1', 'apps.test.vcredits: must be 0 or more'],
    ['plann = "free"', 'apps.test.plann: there is no such key'],
    ['[apps.test.prices]\n"docx to pdff" = 1', 'apps.test.prices.docx to pdff: there is no format "pdff"'],
    ['[apps.test.rate_limits]\nupload = 0', 'apps.test.rate_limits.upload: must be 1 or more'],
    ['callback_domains = ["https://a.b"]', 'apps.test.callback_domains.0: must be a domain'],
    ['private_callback_hosts = ["10.0.0.1:80"]', 'apps.test.private_callback_hosts.0: must be a domain'],
    ['[apps.new]', 'apps.new.app_id: is missing'],
    ['[apps.embedded]\napp_id = "00000000-0000-4000-8000-000000000000"', 'apps.embedded.app_id: the service sets this'],
    [
      `[apps.twin]\napp_id = "${unlimited.app.appId}"\ntoken_sha256 = ["${'a'.repeat(64)}"]`,
      'apps.twin.app_id: stands under apps.',
    ],
    ['development.enabled = "yes"', 'apps.test.development.enabled: must be true or false'],
    ['[apps]\nnone = 3', 'apps.none: must be a table'],
    [
      `[apps.twin]\napp_id = "${testApp.app.appId}"\ntoken_sha256 = "${'a'.repeat(64)}"`,
      'apps.twin.app_id: stands under apps.test too; it must be unique',
    ],
    [
      `${otherApp}token_sha256 = "${'0'.repeat(63)}"`,
      'apps.b.token_sha256: must be a SHA-256 in 64 hexadecimal digits',
    ],
    ['[apps.b', 'accounts.toml:5:8: not valid TOML: '],
  ])('with an error (%j) changes nothing and gives one log line', async (settings, message) => {
    await configure('');
    running.logged.length = 0;
    await writeFile(path.join(running.dataDir, 'accounts.toml'), accounts(settings));
    expect(await running.service.reloadAccounts()).toBe(false);
    // The service may have noticed this change and the previous one on its own.
    const told = new Set(running.logged.filter((line) => !line.startsWith('accounts reloaded: ')));
    expect([...told]).toEqual([expect.stringContaining(message)]);
    expect([...told][0]).not.toContain('\n');
    expect((await client.post('format/get', { parameters: { format: 'pdf' } })).status).toBe(200);
  });

  it('is reloaded automatically after a change', async () => {
    await configure('');
    await writeFile(path.join(running.dataDir, 'accounts.toml'), accounts('plan = "free"'));
    let status = 200;
    while (status === 200) ({ status } = await client.post('format/get', { parameters: { format: 'pdf' } }));
    expect(status).toBe(403);
  });

  it('is read only once it is completely written', async () => {
    const file = path.join(await createDataDir(), 'accounts.toml');
    const app = (name: string, digit: string) =>
      `[apps.${name}]\napp_id = "${digit.repeat(8)}-2222-4333-8444-555555555555"\ntoken_sha256 = "${digit.repeat(64)}"\n`;
    await writeFile(file, app('a', '1'));
    const read = await Accounts.open({ apps: [], file, required: true, log: () => undefined });
    const names = async () => {
      await read.file.look();
      return read.all.map(({ name }) => name);
    };
    await writeFile(file, '');
    expect(await names()).toEqual(['a']);
    await writeFile(file, app('a', '1') + app('b', '2'));
    expect([await names(), await names()]).toEqual([['a'], ['a', 'b']]);
  });

  it('adds and revokes tokens, of which an app may have several', async () => {
    await configure('');
    const next = createApp();
    const hashes = [testApp.app.tokenSha256, next.app.tokenSha256].map(String);
    const file = (tokens: string[]) =>
      accounts('').replace(/token_sha256 = .*/, `token_sha256 = ${JSON.stringify(tokens)}`);
    const write = async (tokens: string[]) => {
      await writeFile(path.join(running.dataDir, 'accounts.toml'), file(tokens));
      expect(await running.service.reloadAccounts()).toBe(true);
    };
    const ask = async (token: string) =>
      (
        await new TestClient(client.url, { app: testApp.app, token }).post('format/get', {
          parameters: { format: 'pdf' },
        })
      ).status;
    await write(hashes);
    expect([await ask(testApp.token), await ask(next.token)]).toEqual([200, 200]);
    await write(hashes.slice(1));
    expect([await ask(testApp.token), await ask(next.token)]).toEqual([403, 200]);
    await configure('');
  });
});

it('a format request whose id was returned can be monitored, but only by its own app', async () => {
  await configure('');
  const data = { include: ['entity', 'payload', 'result'], parameters: { format: 'pdf' } };
  const { body } = await client.post('format/get', data);
  const connector = body.entity?.id;
  expect((await client.post('task/response', { connector })).output).toEqual(body);
  const stranger = await new TestClient(client.url, unlimited).post('task/response', { connector });
  expect(stranger.error.code).toBe('NO_CONNECTOR_DEPENDENT_TASK');
  expect((await client.post('download/url', { connector })).error.code).toBe('MISMATCH_DEPENDENT_TASK');
});
