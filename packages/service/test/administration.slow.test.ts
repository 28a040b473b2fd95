import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { until } from '../../../test/support/until';
import { fileconv as runFileconv, fileconvProcess, startProcess } from '../../cli/test/fileconv';
import { startReceiver } from './callbacks/receiver';
import { createDataDir, TestClient, tinySvg } from './support';

/** `fileconv service credits|apps|tasks` on a data folder, with and without a running service. */

let folder: string;
let dataDir: string;

beforeEach(async () => {
  folder = await createDataDir();
  dataDir = path.join(folder, '.fileconv/service');
});

const fileconv = (...args: string[]) => runFileconv(args, { cwd: folder });

const newAppSchema = z.object({ name: z.string(), appId: z.string(), token: z.string() });

async function addApp(name: string, ...options: string[]) {
  return newAppSchema.parse(JSON.parse((await fileconv('service', 'apps', 'add', name, '--json', ...options)).stdout));
}

const readCredits = async (app: string): Promise<unknown> =>
  JSON.parse((await fileconv('service', 'credits', 'show', app, '--json')).stdout);

describe('fileconv service apps', () => {
  it('prints the token of a new app once and stores only its hash, in a file private to its owner', async () => {
    const added = await fileconv('service', 'apps', 'add', 'billing', '--vcredits', '5');
    const token = /^Token +(\S+)$/m.exec(added.stdout)?.[1] ?? '';
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(added.stderr).not.toContain(token);
    const file = path.join(dataDir, 'accounts.toml');
    expect(await readFile(file, 'utf8')).not.toContain(token);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const list = await fileconv('service', 'apps', 'list');
    expect(list.stdout).toMatch(/^billing +[0-9a-f-]{36} +premium +5 +1$/m);
    expect(list.stdout).toMatch(/^embedded +[0-9a-f-]{36} +premium +unlimited +1$/m);
  });

  it('keeps the existing content of the file', async () => {
    await addApp('billing');
    const file = path.join(dataDir, 'accounts.toml');
    const before = `# ours\n${await readFile(file, 'utf8')}callback_domains = ["a.example"] # no line break here`;
    await writeFile(file, before);
    await addApp('other');
    expect(await readFile(file, 'utf8')).toMatch(new RegExp(`^# ours\n[^]*no line break here\n\\[apps\\.other\\]\n`));
    expect((await fileconv('service', 'apps', 'list')).stdout).toMatch(/^billing [^]*^other /m);
  });

  it('loses no app when several are added at once', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(names.map((name) => fileconvProcess(['service', 'apps', 'add', name], { cwd: folder })));
    const { stdout } = await fileconv('service', 'apps', 'list', '--json');
    const { apps } = z.object({ apps: z.array(z.object({ name: z.string() })) }).parse(JSON.parse(stdout));
    expect(apps.map(({ name }) => name).sort()).toEqual([...names, 'embedded']);
  });

  it.each([
    [['apps', 'add', 'embedded'], 'There is an app "embedded" already'],
    [['apps', 'add', 'a b'], 'letters, digits'],
    [['credits', 'set', 'embedded', '1.5'], 'whole number'],
    [['credits', 'set', 'nobody', '1'], 'The service has no app "nobody"; there are: embedded.'],
    [['credits', 'add', 'embedded', '1'], 'unlimited vCredits'],
  ])('refuses %j in one line', async (args, message) => {
    const { code, stdout, stderr } = await fileconv('service', ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr.trim()).not.toContain('\n');
  });
});

it('fileconv service credits shows, sets and adds vCredits; the file only sets the initial balance', async () => {
  await addApp('billing', '--vcredits', '5');
  expect(await readCredits('billing')).toMatchObject({ vcredits: 5, reserved: 0, available: 5 });
  expect((await fileconv('service', 'credits', 'add', 'billing', '7')).stdout).toMatch(/^billing +12 +0 +12$/m);
  await fileconv('service', 'credits', 'set', 'billing', '0');
  expect(await readCredits('billing')).toMatchObject({ vcredits: 0 });
  await fileconv('service', 'credits', 'set', 'billing', 'unlimited');
  expect(await readCredits('billing')).toMatchObject({ vcredits: null, available: null });
});

describe('a running service', () => {
  it('accepts new apps, tokens and balances without a restart, and reloads changed accounts', async () => {
    const running = startProcess(['service'], { cwd: folder, env: { FILECONV_SERVICE_PORT: '0' } });
    await running.until(/Token file/);
    const url = /http:\/\/\S+/.exec(running.stdout())?.[0] ?? '';
    const { name, appId, token } = await addApp('billing', '--vcredits', '1');
    const clientOf = (appToken: string) =>
      new TestClient(url, { app: { name, appId, tokenSha256: '' }, token: appToken });
    const client = clientOf(token);
    await running.until(/accounts reloaded: 2 app/);

    const convert = async () => {
      const connector = await client.upload('logo.svg', tinySvg);
      return client.post('convert/file', { connector, include: ['entity', 'result'], parameters: { output: 'png' } });
    };
    expect((await convert()).body.entity?.['vcredits']).toBe(1);
    expect((await convert()).error.code).toBe('INSUFFICIENT_VCREDITS');
    await fileconv('service', 'credits', 'add', 'billing', '1');
    expect((await convert()).output.status).toBe('successful');
    expect(await readCredits(appId)).toMatchObject({ app: 'billing', vcredits: 0 });

    const tasks = await fileconv('service', 'tasks', 'list', '--app', 'billing', '--status', 'completed');
    // Includes the refused one.
    expect(tasks.stdout.match(/v1\/convert\/file/g)).toHaveLength(3);
    expect(tasks.stdout).toMatch(/svg → png +1 /);

    const file = path.join(dataDir, 'accounts.toml');
    await writeFile(file, (await readFile(file, 'utf8')).replace('premium', 'gold'));
    await running.until(/the accounts stay as they were: .*apps\.billing\.plan: must be .*free.* or .*premium/);
    expect((await convert()).error.code).toBe('INSUFFICIENT_VCREDITS');
    await writeFile(file, (await readFile(file, 'utf8')).replace('gold', 'free'));
    await until('the new plan holds', async () => (await client.post('format/get')).status === 403);
    expect((await client.post('format/get')).error.code).toBe('FREE_PLAN_DISALLOWED');

    expect((await running.end('SIGTERM')).code).toBe(0);
  });

  it('calls back programs on this machine for its embedded app, and retries after a failure', async () => {
    const receiver = await startReceiver((response, count) => void response.writeHead(count === 1 ? 500 : 200).end());
    const env = { FILECONV_SERVICE_PORT: '0', FILECONV_SERVICE_CALLBACK_FIRST_RETRY_SECONDS: '0.05' };
    const running = startProcess(['service'], { cwd: folder, env });
    await running.until(/Token file/);
    const [, url = ''] = /(http:\/\/\S+)/.exec(running.stdout()) ?? [];
    const [, appId = ''] = /App ID +(\S+)/.exec(running.stdout()) ?? [];
    const token = (await readFile(path.join(dataDir, 'embedded-app.token'), 'utf8')).trim();
    const client = new TestClient(url, { app: { name: 'embedded', appId, tokenSha256: '' }, token });
    await client.post('format/get', { callback: receiver.url, include: ['entity'], parameters: { format: 'pdf' } });
    await receiver.count(2);
    expect((await running.end('SIGTERM')).code).toBe(0);
    await receiver.close();
  });
});
