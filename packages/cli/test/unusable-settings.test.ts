import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileconv, folderWith, linesOf, mainFile, newFolder, type CommandOptions } from './fileconv';
import { testTemporalAddress } from '../../../test/support/temporal';

/** Settings that a serving process can't use: it ends with one line that names the setting. */

let cwd: string;

beforeAll(async () => (cwd = await newFolder()));

const run = (command: string, env: CommandOptions['env']) =>
  fileconv(command.split(' '), { cwd, env: { TEMPORAL_ADDRESS: testTemporalAddress(), ...env } });

const address = '127.0.0.1:19464';

it.each([
  ['service', { FILECONV_SERVICE_PORT: '19464', FILECONV_SERVICE_HEALTH_ADDRESS: address }, 'service.port'],
  ['up', { FILECONV_CALLBACKS_PORT: '19464', FILECONV_WORKER_METRICS_ADDRESS: address }, 'worker.metrics_address'],
])(
  '%s names the setting whose address is taken, also if another setting of its own takes it',
  async (command, env, key) => {
    const ended = await run(command, env);
    const variable = `FILECONV_${key.replace('.', '_').toUpperCase()}`;
    expect(linesOf(ended.stderr)).toEqual([expect.stringContaining('127.0.0.1:19464')]);
    expect(ended.stderr).toContain(variable);
    expect(ended.code).toBe(1);
  },
);

it.each(['192.0.2.1', 'no-such-host.invalid', 'no:host'])('callbacks refuses %s as callbacks.host', async (host) => {
  const ended = await run('callbacks', { FILECONV_CALLBACKS_HOST: host });
  expect(linesOf(ended.stderr)).toEqual([
    `error: callbacks.host: ${host} is not an address of this machine. Leave it out to listen on 127.0.0.1.`,
  ]);
  expect(ended.code).toBe(1);
});

const unreadable = [
  ['worker', 'FILECONV_ENCRYPTION_KEY_FILE', 'The encryption keys: the file PLACE cannot be read: WHY; make one: '],
  ['callbacks', 'FILECONV_CALLBACKS_KEY_FILE', 'The callback key: the file PLACE cannot be read: WHY; leave '],
  ['service', 'FILECONV_SERVICE_ACCOUNTS_FILE', 'PLACE: the accounts file cannot be read: WHY'],
  ['service', 'FILECONV_SERVICE_FAULTS_FILE', 'PLACE: the faults file cannot be read: WHY'],
  ['job list', 'FILECONV_CONFIG', 'PLACE: the configuration file cannot be read: WHY; name another file'],
] as const;

it.each([
  [
    'job list',
    'TEMPORAL_CONFIG_FILE',
    "Temporal's own configuration can't be used: WHY; correct ",
    'a folder',
  ] as const,
  ...unreadable.map((row) => [...row, 'a folder'] as const),
  ...unreadable.map((row) => [...row, 'a pipe'] as const),
])('%s refuses %s if it is no file, instead of waiting for a writer: %s (%s)', async (...each) => {
  const [command, variable, says, kind] = each;
  const place = path.join(cwd, kind);
  if (kind === 'a folder') await mkdir(place, { recursive: true });
  else if (!existsSync(place)) execFileSync('mkfifo', [place]);
  const ended = await run(command, { [variable]: place });
  const why = kind === 'a folder' ? 'it is a folder' : 'it is a pipe, a socket or a device';
  const line = `error: ${says.replace('PLACE', place).replace('WHY', why)}`;
  expect([linesOf(ended.stderr), ended.code]).toEqual([[expect.stringContaining(line)], 2]);
});

it('the configuration may be the output of a command', () => {
  const shell = `exec "$0" "$1" config show --json --config <(printf '[log]\\nlevel = "debug"\\n')`;
  const shown = execFileSync('bash', ['-c', shell, process.execPath, mainFile], { cwd, encoding: 'utf8' });
  expect(shown).toContain('"debug"');
});

it('the null device is an empty configuration', async () => {
  const folder = await folderWith({ 'fileconv.toml': 'not = [valid' });
  expect((await fileconv(['config', 'show'], { cwd: folder, env: { FILECONV_CONFIG: '/dev/null' } })).code).toBe(0);
});

it('warns only once about a key file that others can read, however many parts read it', async () => {
  const file = path.join(cwd, 'callbacks.key');
  await writeFile(file, 'k'.repeat(40));
  await chmod(file, 0o644);
  const ended = await run('up', {
    FILECONV_CALLBACKS_KEY_FILE: file,
    FILECONV_CALLBACKS_PUBLIC_BASE_URL: 'https://hooks.example.com',
    // Ends the start in the worker, which reads the key after the receiver.
    FILECONV_WORKER_NEXUS_APPS: 'nobody',
  });
  expect(linesOf(ended.stderr)).toEqual([
    `warning: The callback key: others can read the file ${file}; run: chmod 600 '${file}'`,
    expect.stringContaining('error: worker.nexus_apps names nobody'),
  ]);
});
