import { once } from 'node:events';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../cli/src/dev-server';
import { fileconv, fileconvProcess, linesOf, newFolder, permissionsHold, startProcess } from '../../cli/test/fileconv';

/** A configuration that cannot be used: `fileconv service` names the key in one line, and never listens. */

const app = `app_id = "11111111-2222-4333-8444-555555555555"\ntoken_sha256 = "${'0'.repeat(64)}"\n`;

interface BadConfiguration {
  title: string;
  accounts?: string;
  faults?: string;
  prepare?: (dataDir: string) => Promise<unknown>;
  env?: Record<string, string>;
  /** Listens on the service's port first. */
  takePort?: boolean;
  exitCode: 1 | 2;
  /** The line on stderr without `error: `; DATA is the data folder. */
  says: string;
  needsPermissions?: boolean;
}

const inAccounts = 'DATA/accounts.toml: ';
const isNotYours = 'Make it yours, or name another folder with FILECONV_SERVICE_DATA_DIR.';

const badConfigurations: BadConfiguration[] = [
  {
    title: 'a value of the wrong type',
    accounts: `[apps.a]\n${app}vcredits = "ten"\n`,
    exitCode: 2,
    says: `${inAccounts}apps.a.vcredits: must be a whole number, 0 or more`,
  },
  {
    title: 'an accounts file that cannot be read',
    accounts: '',
    prepare: (dataDir) => chmod(path.join(dataDir, 'accounts.toml'), 0o000),
    exitCode: 2,
    says: `${inAccounts}the accounts file cannot be read: permission denied`,
    needsPermissions: true,
  },
  {
    title: 'an accounts file that was named and is not there',
    env: { FILECONV_SERVICE_ACCOUNTS_FILE: '/nowhere/accounts.toml' },
    exitCode: 2,
    says: '/nowhere/accounts.toml: there is no such accounts file',
  },
  {
    title: 'a configuration variable of the wrong type',
    env: { FILECONV_SERVICE_CONVERSION_CONCURRENCY: 'many' },
    exitCode: 2,
    says: 'FILECONV_SERVICE_CONVERSION_CONCURRENCY (service.conversion_concurrency) must be a whole number from 1 to 256, not "many"',
  },
  {
    title: 'a data folder that may not be written to',
    prepare: (dataDir) => chmod(dataDir, 0o555),
    exitCode: 1,
    says: `The service's data folder DATA cannot be used: permission denied. ${isNotYours}`,
    needsPermissions: true,
  },
  {
    title: 'a data folder that is a file',
    prepare: async (dataDir) => {
      await rm(dataDir, { recursive: true });
      await writeFile(dataDir, '');
    },
    exitCode: 1,
    says: `The service's data folder DATA cannot be used: it is a file. ${isNotYours}`,
  },
  {
    title: 'uploads that cannot be stored',
    prepare: (dataDir) => mkdir(path.join(dataDir, 'uploads'), { mode: 0o555 }),
    exitCode: 1,
    says: `DATA/uploads, in the service's data folder, cannot be used: permission denied. ${isNotYours}`,
    needsPermissions: true,
  },
  {
    title: 'a database that is none',
    prepare: (dataDir) =>
      writeFile(path.join(dataDir, 'service.db'), 'no database, and long enough to be seen'.repeat(9)),
    exitCode: 1,
    says: "The conversion service can't start: DATA/service.db: the database cannot be used: file is not a database",
  },
  {
    title: 'an embedded app that is damaged',
    prepare: (dataDir) => writeFile(path.join(dataDir, 'embedded-app.json'), '{"name": "embedded"}'),
    exitCode: 1,
    says: "The conversion service can't start: DATA/embedded-app.json: appId is missing or wrong; restore it, or remove it and the service begins with a new app",
  },
  {
    title: 'an embedded token that is empty',
    prepare: (dataDir) => writeFile(path.join(dataDir, 'embedded-app.token'), '\n'),
    exitCode: 1,
    says: "The conversion service can't start: DATA/embedded-app.token: is empty; write a token into it, or remove it and a new one is made",
  },
  {
    title: 'a host that is no address of this machine',
    env: { FILECONV_SERVICE_HOST: '192.0.2.1', FILECONV_SERVICE_ALLOW_REMOTE: 'on' },
    exitCode: 1,
    says: 'service.host: 192.0.2.1 is no address of this machine. Leave it out to listen on 127.0.0.1.',
  },
  {
    title: 'a host that others can reach',
    env: { FILECONV_SERVICE_HOST: '0.0.0.0' },
    exitCode: 1,
    says: `The conversion service can't start: Other machines can reach 0.0.0.0. Leave host out to listen on 127.0.0.1, or allow it: allow_remote = "on" in [service], allowRemote in a program.`,
  },
  {
    title: 'a port that is taken, with faults on: they are not announced',
    faults: '[[faults]]\nkind = "error"\nwhen = "before"\n',
    takePort: true,
    exitCode: 1,
    says: 'Something else listens on 127.0.0.1:PORT. End it, or give the service another port (FILECONV_SERVICE_PORT=0: any free one).',
  },
];

describe('fileconv service says in one line, and never listens:', () => {
  for (const {
    title,
    accounts,
    faults,
    prepare,
    env,
    takePort,
    exitCode,
    says,
    needsPermissions,
  } of badConfigurations) {
    const isSkipped = needsPermissions === true && !permissionsHold;
    (isSkipped ? it.skip : it)(title, async () => {
      const folder = await newFolder();
      const dataDir = path.join(folder, '.fileconv', 'service');
      await mkdir(dataDir, { recursive: true });
      await fileconv(['config', 'allow'], { cwd: folder });
      if (accounts !== undefined) await writeFile(path.join(dataDir, 'accounts.toml'), accounts);
      if (faults !== undefined) await writeFile(path.join(dataDir, 'faults.toml'), faults);
      await prepare?.(dataDir);
      const port = await freePort();
      const taken = takePort === true ? createServer().listen(port, '127.0.0.1') : undefined;
      if (taken) await once(taken, 'listening');

      // Permissions hold for a process of its own only.
      const run = needsPermissions === true ? fileconvProcess : fileconv;
      const command = run(['service'], { cwd: folder, env: { FILECONV_SERVICE_PORT: String(port), ...env } });
      const listened = taken ? Promise.resolve(false) : listensUntil(command, port);
      const ended = await command;

      expect(linesOf(ended.stderr.replaceAll(dataDir, 'DATA').replaceAll(String(port), 'PORT'))).toEqual([
        `error: ${says}`,
      ]);
      expect(ended).toMatchObject({ code: exitCode, stdout: '' });
      expect(await listened).toBe(false);
      taken?.close();
      await chmod(dataDir, 0o755);
    });
  }

  it('and one that is good listens, so that the silence above says something', async () => {
    const folder = await newFolder();
    const port = await freePort();
    const command = startProcess(['service'], { cwd: folder, env: { FILECONV_SERVICE_PORT: String(port) } });
    await command.until(/Token file/);
    expect(await answers(port)).toBe(true);
    command.child.kill('SIGTERM');
    expect((await command.ended).code).toBe(0);
  });
});

/** Whether anybody could connect to this port at any time until then. */
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
