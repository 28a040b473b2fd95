import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { runFiles } from '../../src/batch/run-files';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { endBatch, planRun, runsOf } from '../support/batches';
import { chargeProblems, conversionsOf } from '../support/invariant';
import { startStubService, type StubService } from '../support/stub-service';
import { testClient } from '../support/temporal';
import { until } from '../support/until';
import { WorkerProcess } from '../support/worker-process';

/** The worker of a batch is killed with `kill -9` again and again, and another one takes its place. */

const items = 60;
const killAt = [5, 25, 45];

let folder: string;
let temporal: Client;
let stub: StubService;
const workers: WorkerProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'fileconv-test-'));
  temporal = await testClient();
  stub = await startStubService();
});

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  await temporal.connection.close();
  await stub.close();
  await rm(folder, { recursive: true, force: true });
});

async function startWorker(taskQueue: string): Promise<WorkerProcess> {
  const own = path.join(folder, `worker-${workers.length}`);
  await mkdir(own);
  const worker = await WorkerProcess.start({ taskQueue, folder: own, apps: { stub: stub.url } });
  workers.push(worker);
  return worker;
}

it('every item ends in one state, every output is whole, and what was converted too often is recorded', async () => {
  const taskQueue = `test-${randomUUID()}`;
  const client = new FileConversionClient({ client: temporal, taskQueue, app: 'stub' });
  const run = await planRun(folder, items, { request: { window: 10, historyLimit: 80 } });
  let worker = await startWorker(taskQueue);
  const handle = await client.startBatch(run.request);
  for (const outputs of killAt) {
    await until(`${outputs} outputs`, () => stub.count('download/url/get') >= outputs);
    await worker.kill();
    worker = await startWorker(taskQueue);
  }
  const { result, results } = await endBatch(handle, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: items, failed: 0, cancelled: 0 });
  expect(await chargeProblems(conversionsOf(stub), [run.folder], temporal)).toEqual([]);
  expect(results.filter(({ possiblyChargedTwice }) => possiblyChargedTwice)).toHaveLength(result.possiblyChargedTwice);
  const names = await readdir(path.dirname(run.output(1)));
  expect(names.sort()).toEqual(run.items.map(({ item }) => `${item}.pdf`).sort());
  const contents = await Promise.all(run.items.map(({ item }) => readFile(run.output(item), 'utf8')));
  expect(new Set(contents)).toEqual(new Set(['converted']));
  expect((await runsOf(temporal, run.name)).length).toBeGreaterThan(1);
});

it('the report that it was in the middle of is written whole by another one', async () => {
  const taskQueue = `test-${randomUUID()}`;
  const client = new FileConversionClient({ client: temporal, taskQueue, app: 'stub' });
  const rows = 40_000;
  const run = await planRun(folder, 1, { request: { items: rows } });
  const output = { uri: 'file:///before.pdf', name: 'before.pdf', bytes: 1, sha256: 'a' };
  const done = { source: { bytes: 1, sha256: 'a' }, output };
  const lines = Array.from({ length: rows }, (_, row) => JSON.stringify({ ...run.items[0], item: row + 1, done }));
  await writeFile(path.join(run.folder, runFiles.manifest), `${lines.join('\n')}\n`);
  const worker = await startWorker(taskQueue);
  const handle = await client.startBatch(run.request);
  const isTorn = async () => (await readdir(run.folder)).some((name) => /report.*\.part$/.test(name));
  await until('it writes the report', isTorn);
  await worker.kill();
  expect(await isTorn()).toBe(true);
  expect(await readdir(run.folder)).not.toContain('report.json');
  await startWorker(taskQueue);
  expect(await handle.result()).toMatchObject({ skipped: rows, report: expect.stringMatching(/html$/) as string });
  expect((await readdir(run.folder)).sort()).toEqual([
    'manifest.jsonl',
    ...['report.csv', 'report.html', 'report.json'],
    'results.jsonl',
  ]);
  expect((await readFile(path.join(run.folder, 'report.csv'), 'utf8')).split('\r\n')).toHaveLength(rows + 2);
});
