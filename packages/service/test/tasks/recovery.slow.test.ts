import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import Database from 'libsql';
import { until } from '../../../../test/support/until';
import { startConversionService } from '../../src';
import { openAdministration } from '../../src/administration';
import { hugePng } from '../engines/bombs';
import { conversionProcess, isAlive, processesBelow } from '../processes';
import { killServices, spawnService } from '../service-process';
import { createApp, createDataDir, listZip, longMarkdown, startTestService, TestClient, tinyPng } from '../support';

/** An accepted conversion is done, whatever happens to the process. */

let dataDir: string;
const testApp = createApp();

beforeEach(async () => (dataDir = await createDataDir()));
afterEach(() => killServices());

it('after kill -9, repeats running and waiting conversions, keeps finished ones, charges each once and leaves no partial output', async () => {
  const apps = [{ ...testApp.app, vcredits: 100, prices: { '*': 3 } }];
  const { url, kill } = await spawnService({ dataDir, apps, conversionConcurrency: 2 });
  const before = new TestClient(url, testApp);
  const finished = await before.convert({ name: 'dot.png', data: tinyPng }, 'webp');
  const { bytes: webp } = await before.download(finished.output.connector ?? '');
  const upload = await before.upload('long.md', longMarkdown(15));
  const accepted: string[] = [];
  for (const output of ['docx', 'odt', 'epub', 'html']) accepted.push(await before.startConversion(upload, output));
  await until('it is being converted', async () => {
    return (await before.post('convert/status', { connector: accepted[0] })).output.status === 'pending';
  });
  await kill();
  await writeFile(
    path.join(dataDir, 'outputs', `${accepted[0] ?? ''}.00000000-0000-4000-8000-000000000001.part`),
    'half',
  );
  await writeFile(path.join(dataDir, 'uploads', '00000000-0000-4000-8000-000000000000'), 'uploaded, never recorded');

  const { client, service, logged } = await startTestService({ dataDir, apps }, testApp);
  expect(logged).toContainEqual(expect.stringMatching(/^4 conversion/));
  for (const id of accepted) {
    expect((await client.waitForTask(id)).result.output).toMatchObject({ connector: id, status: 'successful' });
  }
  const administration = await openAdministration({ dataDir });
  expect(administration.balanceOf(testApp.app.appId)).toEqual({ vcredits: 100 - 5 * 3, reserved: 0 });
  administration.close();
  expect(listZip((await client.download(accepted[0] ?? '')).bytes)).toContain('word/document.xml');
  expect((await client.download(finished.output.connector ?? '')).bytes.equals(webp)).toBe(true);
  expect((await readdir(path.join(dataDir, 'outputs'))).sort()).toEqual(
    [finished.output.connector ?? '', ...accepted].sort(),
  );
  expect(await readdir(path.join(dataDir, 'uploads'))).toHaveLength(2);
  await service.close();
});

it('a service killed with kill -9 leaves no conversion process running', async () => {
  const { url, kill, pid: parent = 0 } = await spawnService({ dataDir, apps: [testApp.app] });
  const client = new TestClient(url, testApp);
  await client.startConversion(await client.upload('slow.png', hugePng(11_000)), 'avif');
  let pid = 0;
  await until('it is being converted', () => {
    [pid = 0] = processesBelow(parent, conversionProcess);
    return pid !== 0;
  });
  expect(isAlive(pid)).toBe(true);
  await kill();
  await until('it is gone', () => !isAlive(pid));
});

/** Number of conversions that an engine works on. */
function countRunning(): number {
  const db = new Database(path.join(dataDir, 'service.db'), { timeout: 5_000 });
  const running = db.prepare(`SELECT id FROM tasks WHERE status = 'running' AND attempts > 0`).all();
  db.close();
  return running.length;
}

describe('a closing service', () => {
  it('answers requests in mode sync, and continues their conversions at the next start', async () => {
    const first = await startTestService({ dataDir }, testApp);
    const connector = await first.client.upload('long.md', longMarkdown(30));
    const open = first.client.post('convert/file', { connector, parameters: { output: 'docx' } });
    const waiting = expect(open).resolves.toMatchObject({ status: 500, error: { code: 'INTERNAL_SERVER_ERROR' } });
    await until('it is being converted', () => countRunning() > 0);
    await first.service.close();
    // The conversion has not ended, which shows that closing did not wait for it.
    await waiting;
    const id = /conversion ([0-9a-f-]{36}) continues/.exec((await open).error.message ?? '')?.[1] ?? '';

    const second = await startTestService({ dataDir }, testApp);
    expect((await second.client.waitForTask(id)).result.output.status).toBe('successful');
    await second.service.close();
  });

  it('can be closed twice, and releases its folder', async () => {
    const { service } = await startTestService({ dataDir }, testApp);
    await Promise.all([service.close(), service.close()]);
    const again = await startTestService({ dataDir }, testApp);
    await again.service.close();
  });
});

describe('one data folder', () => {
  it('serves one service at a time, across processes', async () => {
    const { kill } = await spawnService({ dataDir, apps: [testApp.app] });
    await expect(startConversionService({ dataDir, apps: [testApp.app] })).rejects.toThrow(
      /Another conversion service/,
    );
    await kill();
    const { service } = await startTestService({ dataDir }, testApp);
    await expect(startConversionService({ dataDir, apps: [testApp.app] })).rejects.toThrow(
      /Another conversion service/,
    );
    await service.close();
  });

  it('of another schema version is left alone', async () => {
    const { service } = await startTestService({ dataDir }, testApp);
    await service.close();
    const db = new Database(path.join(dataDir, 'service.db'));
    db.exec('PRAGMA user_version = 99');
    db.close();
    await expect(startConversionService({ dataDir, apps: [testApp.app] })).rejects.toThrow(
      /another version of this package \(schema 99, not 2\)/,
    );
  });
});

it('gives up a conversion that keeps killing the service after ten attempts', async () => {
  const first = await startTestService({ dataDir }, testApp);
  const { output } = await first.client.convert({ name: 'dot.png', data: tinyPng }, 'webp');
  await first.service.close();
  const db = new Database(path.join(dataDir, 'service.db'));
  db.prepare(`UPDATE tasks SET status = 'running', attempts = 10 WHERE id = ?`).run(output.connector);
  db.close();
  const second = await startTestService({ dataDir }, testApp);
  const { result } = await second.client.waitForTask(output.connector ?? '');
  expect(result.error.code).toBe('FAILED_CONVERT');
  expect(result.error.message).toMatch(/10 times/);
  await second.service.close();
});
