import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { adoptTemporalServer, defaultCacheDir, obtainTemporalCli, readServerRecord } from '../../src/dev-server';
import type { ServerRecord } from '../../src/dev-server';
import { ChildProgram } from './child-program';

let folder: string;
let dbFilename: string;
let orphan: ServerRecord;

/** A server whose parent was killed with -9 right after it had started. */
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'adopt-test-'));
  dbFilename = path.join(folder, 'temporal.db');
  const cacheDir = defaultCacheDir(process.env, os.homedir());
  const cli = await obtainTemporalCli({ env: process.env, cacheDir });
  const options = { cliPath: cli.path, env: process.env, dbFilename, logFile: path.join(folder, 'temporal.log') };
  const parent = new ChildProgram(`
    await temporal.startTemporalServer(${JSON.stringify(options)});
    print('started');
    setInterval(() => {}, 1000);`);
  await parent.nextLine();
  await parent.kill();
  const record = readServerRecord(dbFilename);
  if (record === undefined) throw new Error('The server left no record.');
  orphan = record;
});

afterEach(async () => {
  const server = await adoptTemporalServer({ ...orphan, dbFilename });
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('a server whose parent was killed', () => {
  it('is adopted with its address and UI, and stopped like one’s own', async () => {
    const server = await adoptTemporalServer({ ...orphan, dbFilename });
    expect(server).toMatchObject({ pid: orphan.pid, address: orphan.address, uiUrl: orphan.uiUrl });
    expect((await fetch(orphan.uiUrl ?? '')).status).toBe(200);
    await server?.stop();
    expect(await server?.exited).toEqual({ code: null, signal: null });
    expect(readServerRecord(dbFilename)).toBeUndefined();
    expect(await adoptTemporalServer({ ...orphan, dbFilename })).toBeUndefined();
  });

  it('is noticed when it ends by itself', async () => {
    const server = await adoptTemporalServer({ ...orphan, dbFilename });
    process.kill(orphan.pid, 'SIGKILL');
    expect(await server?.exited).toEqual({ code: null, signal: null });
  });

  it('is not taken for another database’s, nor another program for it', async () => {
    const other = path.join(folder, 'other.db');
    expect(await adoptTemporalServer({ ...orphan, dbFilename: other })).toBeUndefined();
    expect(await adoptTemporalServer({ ...orphan, pid: process.pid, dbFilename })).toBeUndefined();
    expect(await adoptTemporalServer({ ...orphan, address: '127.0.0.1:1', dbFilename })).toBeUndefined();
  });
});
