import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { createServer } from 'node:net';
import { mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {
  defaultCacheDir,
  endLeftOverServer,
  freePort,
  obtainTemporalCli,
  startTemporalServer,
} from '../../src/dev-server';
import { commandLineOf } from '../../src/dev-server/processes';
import { readServerPid, writeServerPid } from '../../src/dev-server/running-server';
import { isAlive } from '../../src/process/asked-to-end';
import { untilDead } from '../processes';
import { ChildProgram } from './child-program';
import { until } from '../../../../test/support/until';
import type { RunningTemporalServer, StartOptions } from '../../src/dev-server';

let folder: string;
let cliPath: string;
const started: RunningTemporalServer[] = [];

beforeAll(async () => {
  const cacheDir = defaultCacheDir(process.env, os.homedir());
  cliPath = await obtainTemporalCli({ env: process.env, cacheDir });
});

beforeEach(async () => (folder = await mkdtemp(path.join(os.tmpdir(), 'server-test-'))));
afterEach(() => Promise.all(started.splice(0).map((server) => server.stop())));

async function start(changes: Partial<StartOptions> = {}): Promise<RunningTemporalServer> {
  const server = await startTemporalServer({ cliPath, env: process.env, uiPort: false, ...changes });
  started.push(server);
  return server;
}

async function withClient<T>(address: string, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

/** Ports on which a process listens. */
async function portsOf(pid: number): Promise<number[]> {
  const links = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => 'closed meanwhile')),
  );
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  const rows = tables.flatMap((table) => table.split('\n')).map((line) => line.trim().split(/\s+/));
  const listening = rows.filter(([, , , state, ...rest]) => state === '0A' && links.includes(`socket:[${rest[5]}]`));
  return listening.map(([, local = '']) => parseInt(local.split(':')[1] ?? '', 16));
}

it('bypasses the proxy of the environment', async () => {
  const proxied = process.env['http_proxy'];
  process.env['http_proxy'] = 'http://127.0.0.1:1';
  try {
    expect((await start()).address).toMatch(/^127\.0\.0\.1:/);
  } finally {
    if (proxied === undefined) delete process.env['http_proxy'];
    else process.env['http_proxy'] = proxied;
  }
});

it('sets USER if it is missing, because the server may not start without it', async () => {
  const wrapper = path.join(folder, 'temporal');
  await writeFile(wrapper, `#!/bin/sh\necho "$USER" > "${folder}/user"\nexec "${cliPath}" "$@"\n`, { mode: 0o755 });
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'USER'));
  await start({ cliPath: wrapper, env });
  expect(await readFile(path.join(folder, 'user'), 'utf8')).toBe('fileconv\n');
});

describe('a Temporal server with a database file', () => {
  it('keeps namespaces, search attributes and workflows over a restart', async () => {
    const dbFilename = path.join(folder, 'state/of it/temporal.db');
    const first = await start({ dbFilename, namespace: 'invoices' });
    await withClient(first.address, async ({ workflow }) => {
      await workflow.start('conversionJob', { workflowId: 'kept', taskQueue: 'nobody', args: [] });
    });
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);

    await withClient((await start({ dbFilename })).address, async ({ workflow, connection }) => {
      expect((await workflow.getHandle('kept').describe()).status.name).toBe('RUNNING');
      const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace: 'invoices' });
      expect(namespaceInfo?.name).toBe('invoices');
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
      expect(customAttributes).toMatchObject({ ConversionStatus: 2, ConversionApp: 2 });
      await workflow.start('conversionJob', {
        workflowId: 'new attribute',
        taskQueue: 'nobody',
        args: [],
        typedSearchAttributes: [{ key: defineSearchAttributeKey('ConversionApp', 'KEYWORD'), value: 'main' }],
      });
    });
  });

  it('ends a server left over by a killed process, but no other program with that pid', async () => {
    const dbFilename = path.join(folder, 'temporal.db');
    const options = {
      cliPath,
      env: process.env,
      dbFilename,
      uiPort: false,
      logFile: path.join(folder, 'temporal.log'),
    };
    const parent = new ChildProgram(`
      const server = await temporal.startTemporalServer(${JSON.stringify(options)});
      print(JSON.stringify([server.pid, server.address]));
      setInterval(() => {}, 1000);`);
    const [pid, address] = JSON.parse(await parent.nextLine()) as [number, string];
    await withClient(address, ({ workflow }) =>
      workflow.start('conversionJob', { workflowId: 'kept', taskQueue: 'nobody', args: [] }),
    );
    await parent.kill();
    expect(isAlive(pid)).toBe(true);
    await endLeftOverServer(path.join(folder, 'other.db'));
    expect(isAlive(pid)).toBe(true);
    const second = await start({ dbFilename });
    expect(await commandLineOf(pid)).toBeUndefined();
    await withClient(second.address, async ({ workflow }) => {
      expect((await workflow.getHandle('kept').describe()).status.name).toBe('RUNNING');
    });
    await second.stop();
    expect(readServerPid(dbFilename)).toBeUndefined();
    writeServerPid(dbFilename, process.pid);
    await (await start({ dbFilename })).stop();
  });

  it('ends with the process that started it, even if that one does not stop it', async () => {
    const options = { cliPath, env: process.env, uiPort: false, logFile: path.join(folder, 'temporal.log') };
    const parent = new ChildProgram(`
      const server = await temporal.startTemporalServer(${JSON.stringify(options)});
      print(String(server.pid));
      process.exit(0);`);
    const pid = Number(await parent.nextLine());
    await untilDead(pid);
  });

  it.each(['project #1', 'offers?', 'a%20b', '"quoted"', "it's \\ odd"])(
    'keeps the database in a folder called %s, although the name has a meaning in a URI',
    async (name) => {
      const dbFilename = path.join(folder, name, '.fileconv/temporal.db');
      for (const isFirst of [true, false]) {
        const server = await start({ dbFilename });
        await withClient(server.address, async ({ workflow }) => {
          if (isFirst) await workflow.start('x', { workflowId: 'kept', taskQueue: 'nobody', args: [] });
          expect((await workflow.getHandle('kept').describe()).status.name).toBe('RUNNING');
        });
        await endLeftOverServer(dbFilename);
        await server.exited;
      }
      expect([await readdir(folder), (await stat(dbFilename)).mode & 0o777]).toEqual([[name], 0o600]);
    },
  );

  it('names a file that is not a database', async () => {
    const dbFilename = path.join(folder, 'temporal.db');
    await writeFile(dbFilename, 'not a database');
    await expect(start({ dbFilename })).rejects.toMatchObject({
      code: 'DATABASE_DAMAGED',
      message: expect.stringContaining(`its database ${dbFilename} (file is not a database)`) as unknown,
    });
    expect(readServerPid(dbFilename)).toBeUndefined();
  });
});

describe('a Temporal server', () => {
  it('answers at its address and shows its UI', async () => {
    const logFile = path.join(folder, 'logs/temporal.log');
    const server = await startTemporalServer({ cliPath, env: process.env, logFile });
    started.push(server);
    expect(server.address).toMatch(/^127\.0\.0\.1:\d+$/);
    const page = await fetch(server.uiUrl ?? '');
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('<html');
    // The server logs its greeting shortly after it answers.
    while ((await readFile(logFile, 'utf8')) === '') await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await readFile(logFile, 'utf8')).toContain('Temporal CLI 1.9.1');
  });

  it('refuses cross-site requests of a browser on all its ports, so a web page cannot start a workflow', async () => {
    const server = await start({ uiPort: undefined });
    const answers: string[] = [];
    for (const port of await portsOf(server.pid)) {
      const url = `http://127.0.0.1:${port}/api/v1/namespaces/default/workflows/from-a-page`;
      const headers = { 'content-type': 'text/plain', origin: 'https://evil.example' };
      const body = JSON.stringify({ workflowType: { name: 'conversionJob' }, taskQueue: { name: 'file-conversion' } });
      // A gRPC port closes the connection.
      const answer = await fetch(url, { method: 'POST', headers, body }).catch(() => undefined);
      if (answer) answers.push(`${answer.status} ${await answer.text()}`);
    }
    expect(answers.filter((answer) => answer.includes('Host not allowed'))).toHaveLength(1);
    expect(answers.filter((answer) => answer.startsWith('2'))).toEqual([]);
    await withClient(server.address, async ({ workflow }) => {
      await expect(workflow.getHandle('from-a-page').describe()).rejects.toThrow('not found');
      // gRPC, and the UI which uses it, still work.
      await workflow.start('conversionJob', { workflowId: 'asked', taskQueue: 'nobody', args: [] });
    });
    const asked = `${server.uiUrl}/api/v1/namespaces/default/workflows/asked`;
    await until('the UI, which connects after it has begun to listen, shows it', async () => (await fetch(asked)).ok);
  });

  it('reports its end; a second stop is a no-op', async () => {
    const asked = await start();
    await asked.stop();
    await asked.stop();
    expect([await asked.exited, isAlive(asked.pid)]).toEqual([{ code: null, signal: 'SIGKILL' }, false]);
  });

  it.each(['port', 'uiPort'] as const)('is not started if the requested %s is taken', async (name) => {
    const port = await freePort();
    const squatter = createServer((socket) => socket.resume()).listen(port, '127.0.0.1');
    await new Promise((resolve) => squatter.once('listening', resolve));
    try {
      await expect(start({ [name]: port })).rejects.toMatchObject({
        code: 'START_FAILED',
        message: `Port ${port} of 127.0.0.1, which the Temporal server is to use, is taken. End the program that listens there, or choose another port.`,
      });
    } finally {
      squatter.close();
    }
  });

  it.each([
    ['when a port that it chose for one of its parts is taken meanwhile', 'bind: address already in use'],
    ['when it has panicked', 'panic: failed assigning ephemeral port'],
  ])('is started again %s', async (_when, said) => {
    const impostor = path.join(folder, 'impostor');
    const script = `#!/bin/sh
if mkdir ${folder}/tried 2>/dev/null; then echo '${said}'; exit 1; fi
exec ${cliPath} "$@"
`;
    await writeFile(impostor, script, { mode: 0o755 });
    const [port, uiPort] = [await freePort(), await freePort()];
    for (const ports of [{}, { port, uiPort }]) {
      expect(isAlive((await start({ cliPath: impostor, ...ports })).pid)).toBe(true);
      await rm(path.join(folder, 'tried'), { recursive: true });
    }
  });

  it('fails if the binary cannot be started', async () =>
    await expect(start({ cliPath: path.join(folder, 'none') })).rejects.toMatchObject({ code: 'START_FAILED' }));

  /** A server that never answers; it writes its pid to a file. */
  async function sleepingServer(): Promise<string> {
    const sleeper = path.join(folder, 'sleeper');
    await writeFile(sleeper, `#!/bin/sh\necho $$ > ${folder}/pid\necho waiting for godot\nexec sleep 60\n`, {
      mode: 0o755,
    });
    return sleeper;
  }

  it('is ended again if it does not answer in time', async () => {
    await expect(start({ cliPath: await sleepingServer(), timeoutMs: 500 })).rejects.toThrow(
      /did not answer on 127\.0\.0\.1:\d+ in 0\.5 s:\n {2}waiting for godot$/,
    );
    expect(isAlive(Number(await readFile(path.join(folder, 'pid'), 'utf8')))).toBe(false);
  });

  it('is ended again if the start is aborted', async () => {
    const dbFilename = path.join(folder, 'temporal.db');
    const abort = new AbortController();
    const starting = start({ cliPath: await sleepingServer(), dbFilename, signal: abort.signal });
    await until('it has begun', () => readServerPid(dbFilename) !== undefined);
    abort.abort(new Error('no more'));
    await expect(starting).rejects.toThrow('no more');
    expect(readServerPid(dbFilename)).toBeUndefined();
  });
});
