import { batchWindowSignal } from '../../src/job/names';
import { endBatch, partsOf, planRun, runBatch, runsOf, startRun } from '../support/batches';
import { rigOfEachTest } from '../support/conversion-worker';
import { answerCompleted } from '../support/stub-service';
import { until } from '../support/until';

/** Batches with many workflow runs, and batches that are started again. */

const rig = rigOfEachTest();

/** Holds the conversions of these items at the service until they are let go. */
const holdItems = (items: readonly number[]) => rig.stub.hold(...items.map((item) => `${item}.md`));

it('writes several result parts if the items do not fit into one', async () => {
  const run = await planRun(rig.folder, 230, { request: { window: 40 } });
  const { result } = await runBatch(rig.client, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: 230, failed: 0, vcredits: 230, window: 40 });
  expect(result.requests).toBe(rig.stub.requests.length);
  // If the machine stalls for longer than a heartbeat timeout, a submit may be repeated; the result counts those.
  expect(rig.stub.count('convert/file')).toBe(230 + result.possiblyChargedTwice);
  // A slow machine may leave time for more pages of the report, each with a part of its own.
  expect(await partsOf(run)).toEqual(expect.arrayContaining(['000001.jsonl', '000002.jsonl']));
});

describe('a batch that continues as new again and again', () => {
  it('loses nothing, converts nothing twice, and carries slow jobs from run to run', async () => {
    const hold = holdItems([2, 9, 31]);
    const run = await planRun(rig.folder, 60, { request: { window: 8, historyLimit: 40 } });
    const handle = await startRun(rig.client, run.request);
    await until('all but the slow ones have ended', async () => (await handle.state()).succeeded === 57);
    expect(await handle.state()).toMatchObject({ status: 'running', inFlight: 3, waiting: 0 });
    const runs = await runsOf(rig.temporal, run.name);
    expect(runs.length).toBeGreaterThan(2);
    expect(Math.max(...runs.map(({ events }) => events))).toBeLessThan(160);
    hold.letGo();
    const { result, results } = await endBatch(handle, run);
    expect(result).toMatchObject({ status: 'completed', succeeded: 60, failed: 0 });
    expect([new Set(results.map(({ runId }) => runId)).size, rig.stub.count('convert/file')]).toEqual([60, 60]);
    const query = `ConversionBatchId = '${run.name}' AND WorkflowType = 'conversionBatch' AND ConversionStatus = 'completed'`;
    await until('it is still listed', async () => (await rig.temporal.workflow.count(query)).count === 1);
  });

  it('still hears of jobs of earlier runs that are terminated, cancelled or fail', async () => {
    holdItems([1, 2, 3, 4]);
    const run = await planRun(rig.folder, 20, { request: { window: 6, historyLimit: 40 } });
    const handle = await startRun(rig.client, run.request);
    await until('all but the slow ones have ended', async () => (await handle.state()).succeeded === 16);
    expect((await runsOf(rig.temporal, run.name)).length).toBeGreaterThan(1);
    await rig.temporal.workflow.getHandle(run.jobId(1)).terminate();
    await rig.temporal.workflow.getHandle(run.jobId(2)).cancel();
    rig.stub.on('task/response', ({ connector: id }, response) => {
      const error = { code: 'FAILED_CONVERT', message: 'damaged' };
      answerCompleted(response, id, rig.stub.conversions.get(id) === '3.md' ? { error } : {});
    });
    const { result, results } = await endBatch(handle, run);
    expect(result).toMatchObject({ succeeded: 17, failed: 2, cancelled: 1 });
    expect(results.slice(0, 4).map(({ status, code }) => [status, code])).toEqual([
      ['failed', 'TERMINATED'],
      ['cancelled', 'CANCELLED'],
      ['failed', 'FAILED_CONVERT'],
      ['succeeded', undefined],
    ]);
  });

  it('stays paused, keeps its window, and cancels jobs of earlier runs', async () => {
    holdItems([1, 2]);
    const run = await planRun(rig.folder, 30, { request: { window: 5, historyLimit: 40 } });
    const handle = await startRun(rig.client, run.request);
    await handle.setWindow(4);
    await until('it continued', async () => (await runsOf(rig.temporal, run.name)).length > 1);
    await handle.pause();
    await until('the others have ended', async () => (await handle.state()).inFlight === 2);
    expect(await handle.state()).toMatchObject({ status: 'paused', window: 4 });
    await handle.cancel();
    const { result, results } = await endBatch(handle, run);
    expect(result).toMatchObject({ status: 'cancelled', failed: 0 });
    expect(results.slice(0, 2).map(({ status, code }) => [status, code])).toEqual([
      ['cancelled', 'CANCELLED'],
      ['cancelled', 'CANCELLED'],
    ]);
  });
});

it('continues as new after 2,000 events, long before the server suggests it', async () => {
  const run = await planRun(rig.folder, 2, { request: { window: 1 } });
  const held = rig.stub.hold();
  const batch = await startRun(rig.client, run.request);
  await until('a job is in flight', async () => (await batch.state()).inFlight === 1);
  const handle = rig.temporal.workflow.getHandle(run.name);
  for (let sent = 0; sent < 2_000; sent += 100) {
    await Promise.all(Array.from({ length: 100 }, () => handle.signal(batchWindowSignal, 1)));
  }
  held.letGo();
  expect((await endBatch(batch, run)).result).toMatchObject({ succeeded: 2 });
  const [first, ...others] = await runsOf(rig.temporal, run.name);
  expect(others).not.toEqual([]);
  expect(first?.events).toBeLessThan(3_500);
});

it('reads manifests that need several reads, and reports every row', async () => {
  const output = { uri: 'file:///before.pdf', name: 'before.pdf', bytes: 1, sha256: 'a' };
  const done = { source: { bytes: 1, sha256: 'a' }, output };
  const open = new Set([7, 200, 201, 407]);
  const run = await planRun(rig.folder, 407, { change: (row) => (open.has(row.item) ? row : { ...row, done }) });
  const { result, results } = await runBatch(rig.client, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: 4, skipped: 403 });
  expect(results.filter(({ status }) => status === 'succeeded').map(({ item }) => item)).toEqual([...open]);
  expect(rig.stub.count('convert/file')).toBe(4);
});
