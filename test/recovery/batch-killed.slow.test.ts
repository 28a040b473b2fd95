import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { endBatch, planRun, runsOf, startRun } from '../support/batches';
import { chargeProblems, conversionsOf } from '../support/invariant';
import { workersOfEachTest } from '../support/killable-workers';
import { until } from '../support/until';

/** The worker of a batch is killed with `kill -9` and replaced. chaos-batch.nightly.test.ts kills repeatedly. */

const items = 8;

const workers = workersOfEachTest();

it('after its worker is killed, every item ends in one state, every output is complete, and extra conversions are recorded', async () => {
  const { folder, temporal, stub, client, startWorker } = workers;
  const run = await planRun(folder, items, { request: { window: 3, historyLimit: 20 } });
  const worker = await startWorker();
  const handle = await startRun(client, run.request);
  await until('some have ended, and others are under way', () => stub.count('download/url/get') >= 3);
  await worker.kill();
  await startWorker();
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
