import { randomUUID } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runFiles } from '../../src/batch/run-files';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { planRun, startRun } from '../support/batches';
import { killableWorkers, type KillableWorkers } from '../support/killable-workers';
import { until } from '../support/until';

/** A report of many rows, which takes a while: the worker that writes it is killed with `kill -9`. */

let stand: KillableWorkers;
beforeEach(async () => {
  stand = await killableWorkers();
});
afterEach(() => stand.close());

it('the report that a killed worker was in the middle of is written whole by another one', async () => {
  const { folder, temporal, startWorker } = stand;
  const taskQueue = `test-${randomUUID()}`;
  const client = new FileConversionClient({ client: temporal, taskQueue, app: 'stub' });
  const rows = 40_000;
  const run = await planRun(folder, 1, { request: { items: rows } });
  const output = { uri: 'file:///before.pdf', name: 'before.pdf', bytes: 1, sha256: 'a' };
  const done = { source: { bytes: 1, sha256: 'a' }, output };
  const lines = Array.from({ length: rows }, (_, row) => JSON.stringify({ ...run.items[0], item: row + 1, done }));
  await writeFile(path.join(run.folder, runFiles.manifest), `${lines.join('\n')}\n`);
  const worker = await startWorker(taskQueue);
  const handle = await startRun(client, run.request);
  const isTorn = async () => (await readdir(run.folder)).some((name) => /report.*\.part$/.test(name));
  await until('it writes the report', isTorn);
  await worker.kill();
  expect(await isTorn()).toBe(true);
  expect(await readdir(run.folder)).not.toContain('report.json');
  await startWorker(taskQueue);
  expect(await handle.result()).toMatchObject({ skipped: rows, report: expect.stringMatching(/html$/) as string });
  expect((await readdir(run.folder)).sort()).toEqual([
    'manifest.jsonl',
    ...['receipt.csv', 'report.csv', 'report.html', 'report.json'],
    'results.jsonl',
  ]);
  expect((await readFile(path.join(run.folder, 'report.csv'), 'utf8')).split('\r\n')).toHaveLength(rows + 2);
});
