import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { ensureEmbeddedApp } from '../../src/administration';
import { createDataDir, startTestService } from '../support';

const compiledAdministration = path.resolve(__dirname, '../../dist/administration.js');

let dataDir: string;

beforeEach(async () => (dataDir = await createDataDir()));

describe('ensureEmbeddedApp', () => {
  it('creates an app whose token only its owner can read', async () => {
    const { app, appId, tokenFile } = await ensureEmbeddedApp(path.join(dataDir, 'new'));
    const token = (await readFile(tokenFile, 'utf8')).trim();
    expect((await stat(tokenFile)).mode & 0o777).toBe(0o600);
    expect(app).toEqual({ name: 'embedded', appId, tokenSha256: createHash('sha256').update(token).digest('hex') });
  });

  it('returns the same app every time', async () =>
    expect(await ensureEmbeddedApp(dataDir)).toEqual(await ensureEmbeddedApp(dataDir)));

  it('returns the same app to concurrent processes, and leaves no other files', async () => {
    const script = `require(${JSON.stringify(compiledAdministration)}).ensureEmbeddedApp(${JSON.stringify(dataDir)})
      .then((app) => console.log(JSON.stringify(app)));`;
    const run = promisify(execFile);
    const answers = await Promise.all(
      [1, 2, 3, 4].map(async () => (await run(process.execPath, ['-e', script])).stdout),
    );
    expect(new Set(answers).size).toBe(1);
    expect(JSON.parse(answers[0] ?? '')).toEqual(await ensureEmbeddedApp(dataDir));
    expect((await readdir(dataDir)).sort()).toEqual(['embedded-app.json', 'embedded-app.token']);
  });

  it('keeps the App ID, and with it the files of the app, when the token is replaced', async () => {
    const before = await ensureEmbeddedApp(dataDir);
    await writeFile(before.tokenFile, 'another-token\n');
    const after = await ensureEmbeddedApp(dataDir);
    expect(after.appId).toBe(before.appId);
    expect(after.app.tokenSha256).toBe(createHash('sha256').update('another-token').digest('hex'));
    expect(await ensureEmbeddedApp(dataDir)).toEqual(after);
  });

  it('creates an app that the service accepts', async () => {
    const { app, tokenFile } = await ensureEmbeddedApp(dataDir);
    const token = (await readFile(tokenFile, 'utf8')).trim();
    const { client, service } = await startTestService({ dataDir }, { app, token });
    expect((await client.post('format/get', { parameters: { format: 'pdf' } })).status).toBe(200);
    await service.close();
  });

  it('creates an app that may be called back on this machine, unless accounts.toml forbids it', async () => {
    const { app, tokenFile } = await ensureEmbeddedApp(dataDir);
    const token = (await readFile(tokenFile, 'utf8')).trim();
    const callbacks = { resolveHost: () => new Promise<never>(() => undefined) };
    const { client, service } = await startTestService({ dataDir, callbacks }, { app, token });
    const codeOf = async (callback: string) =>
      (await client.post('format/get', { callback, parameters: { format: 'pdf' } })).error.code;
    const local = ['http://localhost:1/', 'http://127.0.0.1:1/', 'http://[::1]:1/'];
    for (const callback of local) expect([callback, await codeOf(callback)]).toEqual([callback, undefined]);
    expect(await codeOf('http://example.com/')).toBe('UNVERIFIED_DOMAIN_CALLBACK');
    await writeFile(path.join(dataDir, 'accounts.toml'), '[apps.embedded]\ncallback_domains = []\n');
    expect(await service.reloadAccounts()).toBe(true);
    for (const callback of local) {
      expect([callback, await codeOf(callback)]).toEqual([callback, 'UNVERIFIED_DOMAIN_CALLBACK']);
    }
    await service.close();
  });
});
