import { randomUUID } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { endBatch, planRun, runsOf, startRun } from '../support/batches';
import { chargeProblems, conversionsOf } from '../support/invariant';
import { killableWorkers, type KillableWorkers } from '../support/killable-workers';
import { until } from '../support/until';

/** The worker of a batch is killed with `kill -9`, and another one takes its place: chaos-batch.nightly.test.ts kills again and again. */

const items = 8;

let stand: KillableWorkers;
beforeEach(async () => {
  stand = await killableWorkers();
});
afterEach(() => stand.close());

it('every item of a batch whose worker was killed ends in one state, every output is whole, and what was converted too often is recorded', async () => {
  const { folder, temporal, stub, startWorker } = stand;
  const taskQueue = `test-${randomUUID()}`;
  const client = new FileConversionClient({ client: temporal, taskQueue, app: 'stub' });
  const run = await planRun(folder, items, { request: { window: 3, historyLimit: 20 } });
  const worker = await startWorker(taskQueue);
  const handle = await startRun(client, run.request);
  await until('some have ended, and others are under way', () => stub.count('download/url/get') >= 3);
  await worker.kill();
  await startWorker(taskQueue);
  const { result, results } = await endBatch(handle, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: items, failed: 0, cancelled: 0 });
  expect(await chargeProblems(conversionsOf(stub), [run.folder], temporal)).toEqual([]);
  expect(results.filter(({ possiblyChargedTwice }) => possiblyChargedTwice)).toHaveLength(result.possiblyChargedTwice);
  const names = await readdir(path.dirname(run.output(1)));
  expect(names.sort()).toEqual(run.items.map(({ item }) => `${item}.pdf`).sort());
  const contents = await Promise.all(run.items.map(({ item }) => readFile(run.output(item), 'utf8')));
  expect(new Set(contents)).toEqual(new Set(['PK result']));
  expect((await runsOf(temporal, run.name)).length).toBeGreaterThan(1);
});
