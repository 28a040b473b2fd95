import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'libsql';
import { until } from '../../../../test/support/until';
import { createApp, createDataDir, startTestService, type TestApp, tinyPng } from '../support';

/** Files and tasks that are removed, when, and those that never are. */

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

let dataDir: string;
let testApp: TestApp;

beforeEach(async () => {
  dataDir = await createDataDir();
  testApp = createApp();
});

const start = (options = {}) => startTestService({ dataDir, ...options }, testApp);
const files = async (folder: string): Promise<string[]> => (await readdir(path.join(dataDir, folder))).sort();

function changeTasks(sql: string, ...values: (string | number)[]): void {
  const db = new Database(path.join(dataDir, 'service.db'), { timeout: 5_000 });
  db.prepare(sql).run(...values);
  db.close();
}

/** Two uploads, each with an output; the service is closed again. */
async function prepareFiles() {
  const { client, service } = await start();
  const pairs = [];
  for (const name of ['first.png', 'second.png']) {
    const upload = await client.upload(name, tinyPng);
    const { output } = await client.post('convert/file', { connector: upload, parameters: { output: 'webp' } });
    const link = await client.post('download/url', { connector: output.connector });
    pairs.push({ upload, output: output.connector ?? '', link: link.output.connector });
  }
  await service.close();
  const [first = { upload: '', output: '', link: '' }, second = first] = pairs;
  return { first, second };
}

describe('expired files', () => {
  it('are removed at the start; others stay', async () => {
    const { first, second } = await prepareFiles();
    changeTasks('UPDATE tasks SET expires_at = ? WHERE id IN (?, ?)', Date.now() - hourMs, first.upload, first.output);
    const { client, service, logged } = await start();
    expect([await files('uploads'), await files('outputs')]).toEqual([[second.upload], [second.output]]);
    expect(logged).toEqual(['cleaned up: 2 file(s), 0 old task(s)']);
    for (const [endpoint, connector] of [
      ['download/url', first.output],
      ['download/url/get', first.link],
    ] as const) {
      const late = await client.post(endpoint, { connector });
      expect([endpoint, late.error.code]).toEqual([endpoint, 'DOWNLOAD_EXPIRED']);
    }
    const again = await client.post('convert/file', { connector: first.upload, parameters: { output: 'gif' } });
    expect(again.error.code).toBe('FILE_NOT_EXISTS');
    await service.close();
  });

  it('are removed while the service runs, which frees their space', async () => {
    const { client, service, logged } = await start({ cleanupIntervalMs: 30, maxStoredBytes: 100 * 1024 });
    const upload = await client.upload('a.txt', 'x'.repeat(60 * 1024));
    const next = { name: 'b.txt', data: 'x'.repeat(60 * 1024) };
    expect((await client.post('upload/file', {}, next)).error.code).toBe('INTERNAL_SERVER_ERROR');
    changeTasks('UPDATE tasks SET expires_at = ? WHERE id = ?', Date.now() - hourMs, upload);
    // The space is counted as free shortly after the file is gone.
    await until('they are gone', () => logged.includes('cleaned up: 1 file(s), 0 old task(s)'));
    expect([await files('uploads'), (await client.post('upload/file', {}, next)).error]).toEqual([[], {}]);
    await service.close();
  });

  it('stay for a minute, in which an admitted request may still need them', async () => {
    const { first, second } = await prepareFiles();
    changeTasks('UPDATE tasks SET expires_at = ?', Date.now() - 1_000);
    const { service } = await start();
    expect(await files('uploads')).toEqual([first.upload, second.upload].sort());
    await service.close();
  });

  it('stay as long as a conversion needs them', async () => {
    const { first } = await prepareFiles();
    changeTasks('UPDATE tasks SET expires_at = ? WHERE id = ?', Date.now() - hourMs, first.upload);
    changeTasks(`UPDATE tasks SET status = 'running', expires_at = NULL WHERE id = ?`, first.output);
    const { client, service } = await start({ cleanupIntervalMs: 30 });
    expect((await client.waitForTask(first.output)).result.output.status).toBe('successful');
    await until('it is gone', async () => !(await files('uploads')).includes(first.upload));
    await service.close();
  });

  it('stay as long as a download reads them', async () => {
    const { first } = await prepareFiles();
    const bytes = Buffer.alloc(32 * 1024 * 1024, 'bytes');
    await writeFile(path.join(dataDir, 'outputs', first.output), bytes);
    changeTasks('UPDATE tasks SET file_size = ? WHERE id = ?', bytes.length, first.output);
    const { client, service } = await start({ cleanupIntervalMs: 30 });
    const link = await client.post('download/url', { connector: first.output });
    const body = new URLSearchParams({
      data: JSON.stringify({ app: client.app.appId, connector: link.output.connector }),
    }).toString();
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      const headers = { ...client.headers, 'content-type': 'application/x-www-form-urlencoded' };
      const request = http.request(`${client.url}/v1/download/url/get`, { method: 'POST', headers }, resolve);
      request.on('error', reject).end(body);
    });
    changeTasks('UPDATE tasks SET expires_at = ? WHERE id = ?', Date.now() - hourMs, first.output);
    await sleep(200);
    expect(existsSync(path.join(dataDir, 'outputs', first.output))).toBe(true);
    let received = 0;
    for await (const chunk of response) received += (chunk as Buffer).length;
    expect(received).toBe(bytes.length);
    await until('it is gone', () => !existsSync(path.join(dataDir, 'outputs', first.output)));
    await service.close();
  });
});

it('removes old files without a task, and abandoned partial files at once, while the service runs', async () => {
  const { service } = await start({ cleanupIntervalMs: 30 });
  const old = path.join(dataDir, 'uploads', randomUUID());
  const fresh = path.join(dataDir, 'uploads', randomUUID());
  const part = path.join(dataDir, 'outputs', `${randomUUID()}.part`);
  for (const file of [old, fresh, part]) await writeFile(file, 'x');
  await utimes(old, Date.now() / 1000 - 3600, Date.now() / 1000 - 3600);
  await until('it is gone', () => !existsSync(old) && !existsSync(part));
  expect(existsSync(fresh)).toBe(true);
  await service.close();
});

describe('old tasks', () => {
  it('are removed with their download links after the retention, unless something needs them', async () => {
    const { first, second } = await prepareFiles();
    const past = Date.now() - 40 * dayMs;
    changeTasks('UPDATE tasks SET completed_at = ?, expires_at = ?', past, past);
    // An old task is unfinished, so its input stays too.
    changeTasks(`UPDATE tasks SET status = 'running', completed_at = NULL WHERE id = ?`, second.output);
    const { client, service } = await start();
    const ask = async (connector: string) => (await client.post('task/response', { connector })).error.code;
    expect(await ask(first.upload)).toBe('NO_CONNECTOR_DEPENDENT_TASK');
    expect(await ask(first.output)).toBe('NO_CONNECTOR_DEPENDENT_TASK');
    expect((await client.waitForTask(second.output)).result.output.status).toBe('successful');
    await service.close();
  });

  it('are kept for task_retention_days', async () => {
    const { first } = await prepareFiles();
    changeTasks('UPDATE tasks SET completed_at = ?, expires_at = ?', Date.now() - 29 * dayMs, Date.now() - 28 * dayMs);
    const { client, service } = await start();
    expect((await client.post('task/response', { connector: first.output })).error).toEqual({});
    await service.close();
    const shorter = await start({ taskRetentionMs: 28 * dayMs });
    const { error } = await shorter.client.post('task/response', { connector: first.output });
    expect(error.code).toBe('NO_CONNECTOR_DEPENDENT_TASK');
    await shorter.service.close();
  });
});

describe('a file of somebody else', () => {
  it('stays, because the service removes only files with its own names', async () => {
    const foreign = [
      'uploads/invoice.pdf',
      'uploads/half.part',
      'outputs/report',
      'conversions/mine/a',
      'conversions/process-of-ours/a',
    ];
    const { service } = await start();
    await service.close();
    for (const name of foreign) {
      await mkdir(path.dirname(path.join(dataDir, name)), { recursive: true });
      await writeFile(path.join(dataDir, name), 'mine');
      await utimes(path.join(dataDir, name), 0, 0);
    }
    await mkdir(path.join(dataDir, 'conversions/process-Ab12_z'));
    const again = await start({ cleanupIntervalMs: 10 });
    const orphan = path.join(dataDir, 'uploads', `${randomUUID()}.part`);
    await writeFile(orphan, '');
    await until('it is gone', () => !existsSync(orphan));
    for (const name of foreign) expect([name, existsSync(path.join(dataDir, name))]).toEqual([name, true]);
    expect(existsSync(path.join(dataDir, 'conversions/process-Ab12_z'))).toBe(false);
    await again.service.close();
  });

  it.each(['uploads', 'outputs', 'conversions'])(
    'is safe in a folder that never belonged to the service: %s',
    async (name) => {
      await mkdir(path.join(dataDir, name));
      const mine = path.join(dataDir, name, randomUUID());
      await writeFile(mine, 'mine');
      await expect(start()).rejects.toThrow(
        `${dataDir} is no data folder of this service: it has files in ${name}, and no service.db.`,
      );
      expect([await readdir(dataDir), existsSync(mine)]).toEqual([[name], true]);
    },
  );

  it.each(['uploads', 'outputs', 'conversions'])('is not reached through a link: %s', async (name) => {
    const elsewhere = await createDataDir();
    const mine = path.join(elsewhere, randomUUID());
    await writeFile(mine, 'mine');
    const { service } = await start();
    await service.close();
    await rm(path.join(dataDir, name), { recursive: true });
    await symlink(elsewhere, path.join(dataDir, name));
    await expect(start()).rejects.toThrow(`${path.join(dataDir, name)} is a link`);
    expect(existsSync(mine)).toBe(true);
  });
});
