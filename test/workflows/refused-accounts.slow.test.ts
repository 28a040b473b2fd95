import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { signalAppReady } from '../../src/client/operations/signal-app';
import { BatchDesk } from '../support/batch-desk';
import { endBatch, planRun, runBatch, runsOf, startRun } from '../support/batches';
import {
  patient,
  planRefused,
  refuseAfter,
  refusedRigOfEachTest,
  sayReady,
  untilRefused,
} from '../support/refused-account';
import { until } from '../support/until';

/** FILECONV_TEST_ITEMS=1000 runs the long form. */
const unattended = Number(process.env['FILECONV_TEST_ITEMS'] ?? 80);

const rig = refusedRigOfEachTest();

it('an account that is refused twice delays a batch by minutes, and fails no file', async () => {
  let left = 2;
  rig.stub.refuse = ({ path: at }) => (at === 'upload/file' && left-- > 0 ? 'INVALID_CREDENTIAL' : undefined);
  const run = await planRun(rig.folder, unattended, { request: { window: 40, policies: { firstCheckAfter: 20 } } });
  const { result } = await runBatch(rig.client, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: unattended, failed: 0, possiblyChargedTwice: 0 });
  expect(result.durationMs).toBeLessThan(5 * 60_000);
  expect(rig.stub.refused).toHaveLength(2);
  expect(rig.stub.conversions.size).toBe(unattended);
});

it('one signal resumes the jobs of every batch of the app, and of no other app', async () => {
  const account = refuseAfter(rig, 0);
  const runs = [await planRefused(rig, 1), await planRefused(rig, 2)];
  const handles = await Promise.all(runs.map(({ request }) => startRun(rig.client, request)));
  const listed = `WorkflowType = 'conversionBatch' AND ConversionApp = '${rig.app}' AND ConversionStatus = 'needsAttention'`;
  await until('both are listed', async () => (await rig.temporal.workflow.count(listed)).count === 2);
  const parked = `ConversionApp = '${rig.app}' AND ConversionStatus = 'parked' AND ExecutionStatus = 'Running'`;
  await until('their jobs are', async () => (await rig.temporal.workflow.count(parked)).count === 3);
  account.mend();
  await signalAppReady(rig.temporal, { app: 'elsewhere' });
  expect(await Promise.all(handles.map((handle) => handle.state()))).toMatchObject([
    { needsAttention: { jobs: 1 } },
    { needsAttention: { jobs: 2 } },
  ]);
  await signalAppReady(rig.temporal, { app: rig.app });
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results.map(({ succeeded }) => succeeded)).toEqual([1, 2]);
});

it.each([
  ['ends with what is in flight, and whose account is refused,', 'finish'],
  ['is cancelled while its account is refused', 'cancel'],
] as const)('a batch that %s ends, and converts the rest when run again', async (_what, inFlight) => {
  const account = refuseAfter(rig, 1);
  const desk = new BatchDesk(rig, 'fail', { window: 2, policies: patient });
  for (let file = 1; file <= 4; file += 1) await desk.put(`${file}.md`);
  const handle = await desk.start();
  await untilRefused(handle);
  await handle.cancel({ inFlight });
  expect((await desk.end(handle)).result).toMatchObject({ status: 'cancelled', succeeded: 1, failed: 0, cancelled: 3 });
  account.mend();
  expect((await desk.run()).result).toMatchObject({ status: 'completed', failed: 0 });
  expect([rig.stub.conversions.size, await desk.problems()]).toEqual([4, []]);
});

it('a batch whose account is refused until the deadline of its first jobs stops, and converts all when run again', async () => {
  const account = refuseAfter(rig, 1);
  const desk = new BatchDesk(rig, 'fail', { window: 2, policies: { ...patient, parkedDeadline: 2 } });
  for (let file = 1; file <= 8; file += 1) await desk.put(`${file}.md`);
  const { result } = await desk.run();
  expect(result).toMatchObject({ status: 'stopped', succeeded: 1, failures: { INVALID_CREDENTIAL: result.failed } });
  expect(result.failed + result.cancelled).toBe(7);
  expect(result.failed).toBeLessThanOrEqual(2);
  account.mend();
  expect((await desk.run()).result).toMatchObject({ status: 'completed', succeeded: 7, failed: 0 });
  expect([rig.stub.conversions.size, await desk.problems()]).toEqual([8, []]);
});

it('parked jobs survive when the batch continues as new, and it starts no others', async () => {
  const account = refuseAfter(rig, 0);
  const run = await planRefused(rig, 4, { window: 2, historyLimit: 30 });
  const handle = await startRun(rig.client, run.request);
  await untilRefused(handle);
  await until('it has continued as new', async () => {
    await handle.setWindow(3);
    return (await runsOf(rig.temporal, run.name)).length > 1;
  });
  expect(await untilRefused(handle)).toMatchObject({
    failed: 0,
    needsAttention: { code: 'INVALID_CREDENTIAL', jobs: 2, app: rig.app },
  });
  account.mend();
  await sayReady(rig, handle);
  const { result } = await endBatch(handle, run);
  expect(result).toMatchObject({ succeeded: 4, failed: 0 });
  expect(result.requests).toBe(rig.stub.requests.length);
});

it('a paused batch starts no job when its account is accepted again, until it is resumed', async () => {
  const account = refuseAfter(rig, 1);
  const run = await planRefused(rig, 4, { window: 2 });
  const handle = await startRun(rig.client, run.request);
  await untilRefused(handle);
  await handle.pause();
  account.mend();
  await sayReady(rig, handle);
  await until('what was in flight is done', async () => (await handle.state()).inFlight === 0);
  const { status, waiting } = await handle.state();
  expect(status).toBe('paused');
  expect(waiting).toBeGreaterThan(0);
  await handle.resume();
  expect((await endBatch(handle, run)).result).toMatchObject({ succeeded: 4 });
});

it('a batch that stops because of its failures does not wait for the account', async () => {
  refuseAfter(rig, 0);
  const run = await planRefused(rig, 5, { window: 3, stopAfter: { failures: 1 } });
  // Noticed only after the other jobs were refused.
  await rm(fileURLToPath(run.items[1]?.source ?? ''));
  const { result, results } = await runBatch(rig.client, run);
  expect(result).toMatchObject({ status: 'stopped', failed: 1, cancelled: 4, failures: { SOURCE_NOT_FOUND: 1 } });
  expect(results.filter(({ workflowId }) => workflowId).map(({ charge }) => charge)).toEqual(['no', 'no', 'no']);
});
