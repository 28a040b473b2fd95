import { cp, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { openContext } from '../src/command-context';
import { appKeys, privilegeOf, keysOfSection } from '../src/config/schema';
import { readStackRecord } from '../src/stack/stack-record';
import { fileconv, filesBelow, folderWith, hostOf, newFolder } from './fileconv';

/** A cloned folder, and a configuration folder of the user. */
async function cloned(files: Readonly<Record<string, string>>) {
  const [cwd, config] = [await folderWith(files), await newFolder()];
  const own = { XDG_CONFIG_HOME: config, AWS_SECRET: 'secret', TEMPORAL_API_KEY: 'secret' };
  const run = (args: string[], env: Record<string, string> = {}) =>
    fileconv(args, { cwd, env: { ...own, ...env }, timeoutMs: 60_000 });
  const open = (env: Record<string, string> = {}) => openContext(hostOf({ cwd, env: { ...own, ...env } }), {});
  return { cwd, config, run, open };
}

const commands = [
  'convert a.md --to html',
  ...['up', 'worker', 'callbacks', 'service', 'codec-server', 'doctor', 'formats', 'job list'],
  ...['batch run a.md --to html --out out', 'batch list', 'schedule list', 'service apps list'],
].map((line) => line.split(' '));

const asksFor = (file: string, wanted: string) =>
  `error: Nothing was done: ${file} was found here, not named by you, and sets ${wanted}. Look at it, and if you trust it: fileconv config allow\n`;

const profile = '[apps.a]\napp_id = "1"\ntoken_file = "t"\nbase_url';

it.each([
  ['apps.a.base_url', `${profile} = "https://evil.example"`, 'https://evil.example'],
  [
    'apps.a.token_env',
    `${profile} = "http://[::1]"`.replace('token_file = "t"', 'token_env = "AWS_SECRET"'),
    'AWS_SECRET',
  ],
  ['temporal.address', '[temporal]\naddress = "evil.example:7233"', 'evil.example:7233'],
  ['codec.ui_origin', '[codec]\nui_origin = "https://evil.example"', 'https://evil.example'],
  ['callbacks.public_base_url', '[callbacks]\npublic_base_url = "https://evil.example/a"', 'https://evil.example/a'],
  ['service.host', '[service]\nhost = "evil.example"', 'evil.example'],
  ['service.allow_remote', '[service]\nallow_remote = "on"', 'on'],
  ['worker.check_command', '[worker]\ncheck_command = ["/evil.example", "-x"]', '/evil.example, -x'],
  ['notify.url', '[notify]\nurl = "https://evil.example/a"', 'https://evil.example/a'],
  ['https.allowed_hosts', '[https]\nallowed_hosts = ["10.0.0.0/8", "b"]', '10.0.0.0/8, b'],
])(
  'asks before a configuration file found in the folder may set %s, and again when the value changes',
  async (key, toml, value) => {
    const { cwd, run } = await cloned({ 'fileconv.toml': `${toml}\n`, 'a.md': '# A\n' });
    const file = path.join(cwd, 'fileconv.toml');
    for (const args of commands) {
      expect(await run(args)).toMatchObject({ code: 2, stdout: '', stderr: asksFor(file, `${key} = ${value}`) });
    }
    expect(await readdir(cwd)).toEqual(['a.md', 'fileconv.toml']);

    expect(await run(['config', 'allow'])).toMatchObject({
      code: 0,
      stdout: `Allowed in ${file}: ${key} = ${value}\n`,
    });
    expect((await run(['service', 'apps', 'list'])).code).toBe(0);
    await writeFile(
      file,
      `${toml.replace('evil.example', 'other.example').replace('"on"', '"off"').replace('AWS_', 'GIT_').replace('"b"', '"c"')}\n`,
    );
    expect((await run(['service', 'apps', 'list'])).code).toBe(toml.includes('allow_remote') ? 0 : 2);
  },
);

it('needs no permission for a named file, for environment variables or for local addresses', async () => {
  const { cwd, open } = await cloned({ 'fileconv.toml': `${profile} = "https://evil.example"\n` });
  const file = path.join(cwd, 'fileconv.toml');
  await expect(open()).rejects.toThrow('apps.a.base_url');
  await expect(open({ FILECONV_CONFIG: file })).resolves.toBeDefined();
  await expect(open({ FILECONV_APPS_A_BASE_URL: 'https://mine.example' })).resolves.toBeDefined();
  await writeFile(
    file,
    '[temporal]\naddress = "[::1]:7233"\n[service]\nhost = "::1"\n[worker]\nmetrics_address = "127.0.0.1:9464"\n',
  );
  await expect(open()).resolves.toBeDefined();
});

it('treats a path as leaving the folder if it is absolute, uses .. or follows a link', async () => {
  const { cwd, open } = await cloned({ 'keys/a.key': '' });
  await symlink(await newFolder(), path.join(cwd, 'link'));
  const problemOf = async (toml: string) => {
    await writeFile(path.join(cwd, 'fileconv.toml'), toml);
    return open().then(
      () => undefined,
      (error: unknown) => /sets (\S+) =/.exec(String(error))?.[1],
    );
  };
  expect(await problemOf('[state]\ndir = "../elsewhere"')).toBe('state.dir');
  expect(await problemOf('[state]\ndir = "link/not/yet"')).toBe('state.dir');
  expect(await problemOf('[service]\ndata_dir = "/tmp"')).toBe('service.data_dir');
  expect(await problemOf('[callbacks]\nkey_file = "link/key"')).toBe('callbacks.key_file');
  expect(
    await problemOf('[callbacks]\nkey_file = "keys/a.key"\n[service]\ndata_dir = "data"\n[state]\ndir = "..state"'),
  ).toBeUndefined();
});

it('asks for every key except those known to be harmless', () => {
  const all = [...keysOfSection].flatMap(([section, keys]) => keys.map((key) => `${section}.${key}`));
  const harmless = [...all, ...appKeys.map((key) => `apps.NAME.${key}`)].filter(
    (key) => privilegeOf(key) === undefined,
  );
  const isNumber = /_(seconds|bytes|attempts|days|depth|fields|concurrency|activities|resubmissions)$|\.port$/;
  expect(harmless.filter((key) => !key.startsWith('policies.') && !isNumber.test(key))).toEqual([
    ...['temporal.namespace', 'worker.task_queue', 'worker.common_limit', 'worker.roots'],
    ...['worker.shared_files', 'worker.deployment_name', 'worker.build_id', 'service.engines', 'callbacks.embedded'],
    ...['log.level', 'notify.events', 'apps.NAME.app_id'],
  ]);
});

const stateLine = (folder: string) =>
  `error: Nothing was done: ${folder} was not created here: it may have come with the folder, and its jobs would run. Look at it, and if you trust it: fileconv config allow\n`;

it('leaves a state folder that came with a clone untouched until it is allowed', async () => {
  const { cwd, run } = await cloned({ 'a.md': '# A\n', '.fileconv/temporal.db': 'jobs', '.fileconv/stack.json': '{}' });
  const folder = path.join(cwd, '.fileconv');
  for (const args of commands)
    expect(await run(args)).toMatchObject({ code: 2, stdout: '', stderr: stateLine(folder) });
  expect(await readdir(folder)).toEqual(['stack.json', 'temporal.db']);

  expect(await run(['config', 'allow'])).toMatchObject({
    code: 0,
    stdout: `${folder} is allowed: its unfinished jobs continue.\n`,
  });
  expect((await run(['service', 'apps', 'list'])).code).toBe(0);
});

it('never allows a state folder with links that would send logs or files elsewhere', async () => {
  const { cwd, run } = await cloned({ '.fileconv/temporal.db': '' });
  const elsewhere = await newFolder();
  await writeFile(path.join(elsewhere, '.bashrc'), 'mine');
  await writeFile(path.join(elsewhere, 'invoice'), 'mine');
  const folder = path.join(cwd, '.fileconv');
  for (const [link, target] of [
    ['logs/worker.log', '.bashrc'],
    ['service/uploads', ''],
  ] as const) {
    await mkdir(path.dirname(path.join(folder, link)), { recursive: true });
    await symlink(path.join(elsewhere, target), path.join(folder, link));
    expect(await run(['service'])).toMatchObject({ code: 2, stderr: stateLine(folder) });
    expect(await run(['config', 'allow'])).toMatchObject({
      code: 2,
      stderr: `error: ${path.join(folder, link)} is a link: what fileconv writes there would land elsewhere. Remove it, or remove ${folder}.\n`,
    });
    await rm(path.join(folder, link));
  }
  expect(await readFile(path.join(elsewhere, '.bashrc'), 'utf8')).toBe('mine');
  expect(await filesBelow(elsewhere)).toEqual(['.bashrc', 'invoice']);
});

it('recognizes its own state folder, also after it was moved, but not a copy of it', async () => {
  const { cwd, run } = await cloned({});
  expect((await run(['service', 'apps', 'add', 'billing'])).code).toBe(0);
  expect((await stat(path.join(cwd, '.fileconv'))).mode & 0o777).toBe(0o700);
  expect((await run(['service', 'apps', 'list'])).stdout).toContain('billing');
  await rename(path.join(cwd, '.fileconv'), path.join(cwd, 'moved'));
  await cp(path.join(cwd, 'moved'), path.join(cwd, '.fileconv'), { recursive: true });
  expect(await run(['service', 'apps', 'list'])).toMatchObject({
    code: 2,
    stderr: stateLine(path.join(cwd, '.fileconv')),
  });
  await rm(path.join(cwd, '.fileconv'), { recursive: true });
  await rename(path.join(cwd, 'moved'), path.join(cwd, '.fileconv'));
  expect((await run(['service', 'apps', 'list'])).stdout).toContain('billing');
});

it('uses an empty state folder, such as a new volume, and one named by the environment', async () => {
  const { cwd, run } = await cloned({});
  await mkdir(path.join(cwd, '.fileconv'));
  expect((await run(['service', 'apps', 'list'])).code).toBe(0);
  const other = await cloned({ 'elsewhere/temporal.db': '' });
  expect((await other.run(['service', 'apps', 'list'], { FILECONV_STATE_DIR: 'elsewhere' })).code).toBe(0);
});

it('asks to name the state folder when it has nowhere to record that it made one', async () => {
  const { run, config } = await cloned({});
  await writeFile(path.join(config, 'fileconv'), '');
  const ended = await run(['service', 'apps', 'list']);
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain(`${config}/fileconv cannot be written to`);
  expect(ended.stderr).toContain('export FILECONV_STATE_DIR=PATH');
});

it('drops a URL of another machine from the stack record', async () => {
  const state = await newFolder();
  const record = {
    pid: process.pid,
    startedBy: 'up',
    since: '2026-11-21T09:25:18Z',
    taskQueue: 'q',
    service: { url: 'http://127.0.0.1:1' },
  };
  const stack = { ...record, temporal: { namespace: 'default', address: '127.0.0.1:1' } };
  await writeFile(
    path.join(state, 'stack.json'),
    JSON.stringify({ ...stack, callbacks: { url: 'http://0.0.0.0:8466' } }),
  );
  expect(await readStackRecord(state)).toEqual({ ...stack, callbacks: undefined });
});
