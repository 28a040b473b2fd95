import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { foreignRecipients as allowedIn } from '../src/allowed-origins';
import type { CommandContext } from '../src/command-context';
import { configAllow } from '../src/commands/config';
import { loadConfig } from '../src/config/load-config';
import { acquireProcessLock } from '../src/dev-server';
import { checkCallbacks } from '../src/doctor/check-callbacks';
import { callbackSettings } from '../src/keys/callback-settings';
import { SecretMask } from '../src/observability/secret-mask';
import { createOutput } from '../src/output/output';
import { configuredApps } from '../src/service/app-profiles';
import { runningEmbedded } from '../src/service/app-profiles';
import { readStackRecord } from '../src/stack/stack-record';
import { configArgs } from '../src/stack/start-stack';
import { findTemporal, openTemporal } from '../src/stack/open-temporal';
import { useStack } from '../src/stack/use-stack';
import { fileconv, filesBelow, hostOf, newFolder, removeFolders } from './fileconv';

afterAll(removeFolders);

const toml = (origin: string) => `[apps.evil]\nbase_url = "${origin}"\napp_id = "1"\ntoken_env = "AWS_SECRET"\n`;

async function folderWith(origin: string, content = toml(origin)) {
  const [cwd, homeDir] = [await newFolder(), await newFolder()];
  const file = path.join(cwd, 'fileconv.toml');
  await writeFile(file, content);
  const open = async (more: Record<string, string> = {}): Promise<CommandContext> => {
    const host = { ...hostOf({ cwd }), env: { AWS_SECRET: 'secret', ...more }, homeDir };
    const output = createOutput({ ...host, json: false });
    return { ...host, output, config: await loadConfig(host), secrets: new SecretMask() };
  };
  const token = async (more: Record<string, string> = {}) => {
    const reveal = configuredApps(await open(more))['evil']?.token;
    return typeof reveal === 'function' ? reveal() : reveal;
  };
  return { cwd, homeDir, file, open, token };
}

it('a configuration that lies in a folder sends no variable to a foreign origin until somebody has allowed it', async () => {
  const { file, open, token } = await folderWith('https://evil.example');
  await expect(token()).rejects.toThrow(
    `Nothing was sent: ${file}, which nobody has named, wants the token in the variable AWS_SECRET at https://evil.example. If you trust it: fileconv config allow`,
  );
  await configAllow(await open());
  await expect(token()).resolves.toBe('secret');
  await writeFile(file, toml('https://other.example'));
  await expect(token()).rejects.toThrow('https://other.example');
});

it('one that somebody has named, and this machine, need no allowance', async () => {
  const { file, token } = await folderWith('https://evil.example');
  await expect(token({ FILECONV_CONFIG: file })).resolves.toBe('secret');
  await expect((await folderWith('http://127.0.0.1:8465')).token()).resolves.toBe('secret');
});

const temporalLine = (file: string, address: string) =>
  `Nothing was sent: ${file}, which nobody has named, wants jobs, and Temporal's credentials, at ${address}. If you trust it: fileconv config allow`;

it('nor jobs and the API key of Temporal to a stranger, whether it names the address or a file that does', async () => {
  const { cwd, file, open } = await folderWith('', '[temporal]\naddress = "evil.example:7233"\n');
  const key = { TEMPORAL_API_KEY: 'secret' };
  await expect(openTemporal(await open(key))).rejects.toThrow(temporalLine(file, 'evil.example:7233'));
  await writeFile(path.join(cwd, 'temporal.toml'), '[profile.default]\naddress = "other.example:7233"\n');
  await writeFile(file, '[temporal]\nconfig_file = "temporal.toml"\n');
  await expect(openTemporal(await open(key))).rejects.toThrow(temporalLine(file, 'other.example:7233'));
  // An address that somebody has set is trusted: nobody answers there.
  const named = { ...key, TEMPORAL_ADDRESS: '127.0.0.1:1' };
  await expect(openTemporal(await open(named))).rejects.toThrow("Temporal can't be reached at 127.0.0.1:1");
  await configAllow(await open());
  expect(allowedIn(await open())).toEqual([
    { file, origin: 'other.example:7233', what: "jobs, and Temporal's credentials," },
  ]);
});

it("Temporal's own configuration in the person's folder is trusted", async () => {
  const { homeDir, open } = await folderWith('', '');
  const own = path.join(homeDir, 'temporal.toml');
  await writeFile(own, '[profile.default]\naddress = "127.0.0.1:1"\napi_key = "secret"\n');
  const asked = openTemporal(await open({ TEMPORAL_CONFIG_FILE: own }));
  await expect(asked).rejects.toThrow("Temporal can't be reached at 127.0.0.1:1");
});

it('nor the token of the embedded service to another host; what is refused can be allowed', async () => {
  const { cwd, file, open } = await folderWith('', '[service]\nhost = "evil.example"\n');
  const token = async () => {
    const { token } = await runningEmbedded(await open());
    return typeof token === 'function' ? token() : token;
  };
  const place = path.join(cwd, '.fileconv/service/embedded-app.token');
  await expect(token()).rejects.toThrow(
    `Nothing was sent: ${file}, which nobody has named, wants the token in the file ${place} at http://evil.example:8465. If you trust it: fileconv config allow`,
  );
  await configAllow(await open());
  await expect(token()).resolves.toMatch(/^\S{40,}$/);
});

const callbackLine = (file: string, origin: string) =>
  `Nothing was sent: ${file}, which nobody has named, wants callbacks about jobs at ${origin}. If you trust it: fileconv config allow`;

it('nor callbacks to another host, of any service or of the embedded one; doctor sends it none either', async () => {
  const { file, open } = await folderWith('', '[callbacks]\npublic_base_url = "https://evil.example/a"\n');
  const refused = callbackLine(file, 'https://evil.example');
  await expect(callbackSettings(await open())).rejects.toThrow(refused);
  await expect(checkCallbacks(await open())).resolves.toMatchObject({ status: 'broken', says: refused });
  await configAllow(await open());
  await expect(callbackSettings(await open())).resolves.toMatchObject({ publicBaseUrl: 'https://evil.example/a' });
  await writeFile(file, '[callbacks]\nembedded_base_url = "http://other.example:1"\n');
  await expect(callbackSettings(await open())).rejects.toThrow(callbackLine(file, 'http://other.example:1'));
  const named = { FILECONV_CALLBACKS_EMBEDDED_BASE_URL: 'http://other.example:1' };
  await expect(callbackSettings(await open(named))).resolves.toBeDefined();
  await writeFile(file, '[callbacks]\npublic_base_url = "http://127.0.0.1:1"\n');
  await expect(callbackSettings(await open())).resolves.toMatchObject({ publicBaseUrl: 'http://127.0.0.1:1' });
});

it('a stack and a worker do not start in a folder whose configuration wants callbacks elsewhere', async () => {
  const { cwd, file } = await folderWith('', '[callbacks]\npublic_base_url = "https://evil.example"\n');
  for (const args of [['up'], ['worker']]) {
    const ended = await fileconv(args, { cwd, env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
    expect([args, ended.code, ended.stderr]).toEqual([
      args,
      2,
      `error: ${callbackLine(file, 'https://evil.example')}\n`,
    ]);
  }
  expect(await filesBelow(cwd)).toEqual(['fileconv.toml']);
});

it('a command in a folder with a hostile configuration says that in one line, exits with 2 and leaves nothing', async () => {
  const { cwd, file } = await folderWith('', '[temporal]\naddress = "evil.example:7233"\n');
  await writeFile(path.join(cwd, 'a.md'), '# A\n');
  for (const args of [['convert', 'a.md', '--to', 'html'], ['job', 'list'], ['up'], ['worker'], ['callbacks']]) {
    const ended = await fileconv(args, { cwd, env: { TEMPORAL_API_KEY: 'secret' } });
    expect([args, ended.code, ended.stderr]).toEqual([args, 2, `error: ${temporalLine(file, 'evil.example:7233')}\n`]);
  }
  expect(await filesBelow(cwd)).toEqual(['a.md', 'fileconv.toml']);
});

async function folderWithStack(temporal: { address: string; uiUrl?: string }, parts = {}) {
  const found = await folderWith('', '');
  await rm(found.file);
  const state = path.join(found.cwd, '.fileconv');
  await mkdir(state);
  const record = { pid: process.pid, startedBy: 'up', taskQueue: 'q', service: { url: 'http://127.0.0.1:1' } };
  const stack = { ...record, ...parts, temporal: { namespace: 'default', ...temporal } };
  await writeFile(path.join(state, 'stack.json'), JSON.stringify(stack));
  return { ...found, state, file: path.join(state, 'stack.json') };
}

const stackLine = (file: string, address: string, word = address) =>
  `Nothing was sent: ${file}, which may have come with the folder, wants jobs at ${address}. If you trust it: export TEMPORAL_ADDRESS=${word}`;

it.each([
  ['evil.example:7233'],
  ['127.0.0.1.evil.example:7233'],
  ['127.0.0.1:1@evil.example:7233'],
  ['ipv4:203.0.113.1:7233'],
  ['0.0.0.0:7233'],
  // Without brackets the end of an IPv6 address is ambiguous.
  ['::1:7233'],
  ["evil.example:7233; rm -rf '~'", `'evil.example:7233; rm -rf '\\''~'\\'''`],
])(
  'the record of a stack, which may have come with a clone, leads to no Temporal elsewhere: %s',
  async (address, word: string = address) => {
    const { file, state, open } = await folderWithStack({ address });
    const context = await open({ TEMPORAL_API_KEY: 'secret' });
    await expect(openTemporal(context)).rejects.toThrow(stackLine(file, address, word));
    // Where somebody holds its lock it seems to run.
    const lock = await acquireProcessLock(path.join(state, 'stack.lock'), {});
    const used = useStack(context, new AbortController().signal).finally(() => lock.release());
    await expect(used).rejects.toThrow(stackLine(file, address, word));
  },
);

it('a record of a stack on this machine is believed, unless its links lead elsewhere', async () => {
  for (const address of ['127.0.0.1:1', 'localhost:1', '[::1]:1']) {
    const { open } = await folderWithStack({ address });
    expect((await findTemporal(await open())).target.connection).toEqual({ address });
  }
  for (const uiUrl of ['http://evil.example', 'javascript://127.0.0.1/%0aalert(1)']) {
    const { open } = await folderWithStack({ address: '127.0.0.1:1', uiUrl });
    await expect(openTemporal(await open())).rejects.toThrow('No stack runs in');
  }
});

it('a record of a stack whose callbacks listen for other machines is believed, without that link', async () => {
  const { state } = await folderWithStack({ address: '127.0.0.1:1' }, { callbacks: { url: 'http://0.0.0.0:8466' } });
  const record = await readStackRecord(state);
  expect(record?.temporal.address).toBe('127.0.0.1:1');
  expect(record?.callbacks).toBeUndefined();
});

it('a command in a cloned folder with such a record says so in one line, and exits with 2', async () => {
  const { cwd, file } = await folderWithStack({ address: 'evil.example:7233' });
  for (const args of [
    ['job', 'list'],
    ['batch', 'list'],
    ['schedule', 'list'],
    ['doctor'],
    ['worker'],
    ['callbacks'],
  ]) {
    const ended = await fileconv(args, { cwd, env: { TEMPORAL_API_KEY: 'secret' } });
    expect([args, ended.code, ended.stderr]).toEqual([args, 2, `error: ${stackLine(file, 'evil.example:7233')}\n`]);
  }
});

it('the parts of a stack trust a configuration no more than the command that starts them', async () => {
  const { cwd, open } = await folderWith('https://evil.example');
  expect(configArgs(await open())).toEqual([]);
  const file = path.join(cwd, 'fileconv.toml');
  expect(configArgs(await open({ FILECONV_CONFIG: file }))).toEqual(['--config', file]);
});
