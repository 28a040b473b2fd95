import { once } from 'node:events';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../cli/src/dev-server';
import { fileconv, fileconvProcess, linesOf, newFolder, permissionsHold, startProcess } from '../../cli/test/fileconv';

/** With an unusable configuration, `fileconv service` names the key in one line and never listens. */

const app = `app_id = "11111111-2222-4333-8444-555555555555"\ntoken_sha256 = "${'0'.repeat(64)}"\n`;

interface Circumstances {
  /** Files in the data folder. */
  files?: Record<string, string>;
  prepare?: (dataDir: string) => Promise<unknown>;
  env?: Record<string, string>;
  /** Occupies the service's port first. */
  takePort?: true;
  needsPermissions?: true;
}

const inAccounts = 'DATA/accounts.toml: ';
const isNotYours = 'Make it yours, or name another folder with FILECONV_SERVICE_DATA_DIR.';
const cantStart = "The conversion service can't start: ";

/** Exit code, and the line on stderr without `error: `; DATA stands for the data folder. */
const badConfigurations: [exitCode: 1 | 2, says: string, circumstances: Circumstances][] = [
  [
    2,
    `${inAccounts}apps.a.vcredits: must be a whole number, 0 or more`,
    { files: { 'accounts.toml': `[apps.a]\n${app}vcredits = "ten"\n` } },
  ],
  [
    2,
    `${inAccounts}the accounts file cannot be read: permission denied`,
    {
      files: { 'accounts.toml': '' },
      prepare: (dataDir) => chmod(path.join(dataDir, 'accounts.toml'), 0o000),
      needsPermissions: true,
    },
  ],
  [
    2,
    '/nowhere/accounts.toml: there is no such accounts file',
    { env: { FILECONV_SERVICE_ACCOUNTS_FILE: '/nowhere/accounts.toml' } },
  ],
  [
    2,
    'FILECONV_SERVICE_CONVERSION_CONCURRENCY (service.conversion_concurrency) must be a whole number from 1 to 256, not "many"',
    { env: { FILECONV_SERVICE_CONVERSION_CONCURRENCY: 'many' } },
  ],
  [
    1,
    `The service's data folder DATA cannot be used: permission denied. ${isNotYours}`,
    { prepare: (dataDir) => chmod(dataDir, 0o555), needsPermissions: true },
  ],
  [
    1,
    `The service's data folder DATA cannot be used: it is a file. ${isNotYours}`,
    { prepare: (dataDir) => rm(dataDir, { recursive: true }).then(() => writeFile(dataDir, '')) },
  ],
  [
    1,
    `DATA/uploads, in the service's data folder, cannot be used: permission denied. ${isNotYours}`,
    { prepare: (dataDir) => mkdir(path.join(dataDir, 'uploads'), { mode: 0o555 }), needsPermissions: true },
  ],
  [
    1,
    `${cantStart}DATA/service.db: the database cannot be used: file is not a database`,
    { files: { 'service.db': 'no database, and long enough to be seen'.repeat(9) } },
  ],
  [
    1,
    `${cantStart}DATA/embedded-app.json: appId is missing or wrong; restore it, or remove it and the service begins with a new app`,
    { files: { 'embedded-app.json': '{"name": "embedded"}' } },
  ],
  [
    1,
    `${cantStart}DATA/embedded-app.token: is empty; write a token into it, or remove it and a new one is made`,
    { files: { 'embedded-app.token': '\n' } },
  ],
  [
    1,
    'service.host: 192.0.2.1 is not an address of this machine. Leave it out to listen on 127.0.0.1.',
    { env: { FILECONV_SERVICE_HOST: '192.0.2.1', FILECONV_SERVICE_ALLOW_REMOTE: 'on' } },
  ],
  [
    1,
    `${cantStart}Other machines can reach 0.0.0.0. Leave host out to listen on 127.0.0.1, or allow it: allow_remote = "on" in [service], allowRemote in a program.`,
    { env: { FILECONV_SERVICE_HOST: '0.0.0.0' } },
  ],
  // Faults are configured, but a service that does not start must not announce them.
  [
    1,
    'Something else is listening on 127.0.0.1:PORT. Stop it, or give the service another port (FILECONV_SERVICE_PORT=0: any free one).',
    { files: { 'faults.toml': '[[faults]]\nkind = "error"\nwhen = "before"\n' }, takePort: true },
  ],
];

describe('fileconv service never listens, and prints one line:', () => {
  for (const [exitCode, says, { files = {}, prepare, env, takePort, needsPermissions }] of badConfigurations) {
    (needsPermissions && !permissionsHold ? it.skip : it)(says, async () => {
      const folder = await newFolder();
      const dataDir = path.join(folder, '.fileconv', 'service');
      await mkdir(dataDir, { recursive: true });
      await fileconv(['config', 'allow'], { cwd: folder });
      for (const [name, content] of Object.entries(files)) await writeFile(path.join(dataDir, name), content);
      await prepare?.(dataDir);
      const port = await freePort();
      const taken = takePort && createServer().listen(port, '127.0.0.1');
      if (taken) await once(taken, 'listening');

      // File permissions hold only for a child process.
      const run = needsPermissions ? fileconvProcess : fileconv;
      const command = run(['service'], { cwd: folder, env: { FILECONV_SERVICE_PORT: String(port), ...env } });
      const listened = taken ? Promise.resolve(false) : listensUntil(command, port);
      const ended = await command;

      const told = ended.stderr.replaceAll(dataDir, 'DATA').replaceAll(String(port), 'PORT');
      expect(linesOf(told)).toEqual([`error: ${says}`]);
      expect(ended).toMatchObject({ code: exitCode, stdout: '' });
      expect(await listened).toBe(false);
      taken?.close();
      await chmod(dataDir, 0o755);
    });
  }

  it('listens with a valid configuration, so the check above is meaningful', async () => {
    const folder = await newFolder();
    const port = await freePort();
    const command = startProcess(['service'], { cwd: folder, env: { FILECONV_SERVICE_PORT: String(port) } });
    await command.until(/Token file/);
    expect(await answers(port)).toBe(true);
    expect((await command.end('SIGTERM')).code).toBe(0);
  });
});

/** Whether the port accepted a connection at any time before `ended`. */
async function listensUntil(ended: Promise<unknown>, port: number): Promise<boolean> {
  const over = new AbortController();
  void ended.then(() => over.abort());
  let answered = false;
  while (!over.signal.aborted) {
    answered ||= await answers(port);
    await sleep(10);
  }
  return answered;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
