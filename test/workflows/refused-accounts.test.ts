import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { appReady } from '../../src/client/operations/tell-app';
import type { BatchHandle } from '../../src/client/batch-handle';
import type { BatchState, ItemWaits } from '../../src/shared/batch';
import { BatchDesk } from '../support/batch-desk';
import { endBatch, planRun, runBatch, runsOf, sumOf, startRun } from '../support/batches';
import { startRig, type ConversionRig } from '../support/conversion-worker';
import { answerCompleted, answerError, answerOutput } from '../support/stub-service';
import { until } from '../support/until';

/** Batches whose account the service refuses from one moment to the next, and takes again later. */

let rig: ConversionRig;
/** Another one for each test: batches of a test that failed may still wait. */
let app: string;

beforeEach(async () => {
  app = `refused-${randomUUID()}`;
  rig = await startRig({ app });
});

afterEach(() => rig.close());

/** Refuses uploads and submits after so many conversions, until it is fixed. */
function refuseAfter(conversions: number, code = 'INVALID_CREDENTIAL') {
  const account = { isMended: false };
  rig.stub.refuse = ({ path }) => {
    const isNew = path === 'upload/file' || path === 'convert/file';
    return isNew && !account.isMended && rig.stub.conversions.size >= conversions ? code : undefined;
  };
  return { mend: () => (account.isMended = true) };
}

/** Everything in flight is held. */
async function untilRefused(handle: BatchHandle): Promise<BatchState> {
  let state = await handle.state();
  await until('the account is refused', async () => {
    state = await handle.state();
    return state.needsAttention?.jobs === state.inFlight;
  });
  return state;
}

it('a refused account pauses the batch: at most a window of requests is refused, none of its files fails, and all continue', async () => {
  const account = refuseAfter(2);
  const run = await planRun(rig.folder, 8, { request: { window: 3 } });
  const handle = await startRun(rig.client, run.request);
  const state = await untilRefused(handle);
  expect(state).toMatchObject({
    status: 'running',
    succeeded: 2,
    failed: 0,
    needsAttention: { code: 'INVALID_CREDENTIAL', app },
  });
  expect(sumOf(state)).toBe(8);
  expect(state.needsAttention?.message).toMatch(/INVALID_CREDENTIAL \(HTTP 403\)/);
  expect(state.needsAttention?.message).toMatch(`When that is fixed: fileconv app ready --app ${app}`);
  expect(rig.stub.refused.length).toBeLessThanOrEqual(3);
  const { currentDetails } = await rig.temporal.workflow
    .getHandle(run.name)
    .query<{ currentDetails: string }>('__temporal_workflow_metadata');
  expect(currentDetails).toContain('**Needs attention**: starts no job as long as the service refuses the account');
  expect(currentDetails).toContain('`INVALID_CREDENTIAL`');

  account.mend();
  await handle.appReady();
  const { result, results } = await endBatch(handle, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: 8, failed: 0, possiblyChargedTwice: 0 });
  expect(result.needsAttention).toBeUndefined();
  expect(rig.stub.conversions.size).toBe(8);
  expect(result.requests).toBe(rig.stub.requests.length);
  expect(results.map(({ status, charge }) => `${status} ${charge ?? ''}`)).toEqual(results.map(() => 'succeeded yes'));
});

it('what was accepted before the refusal continues, and is done', async () => {
  const gate = { isOpen: false };
  rig.stub.on('task/response', (seen, response) => {
    const id = String(seen.data['connector']);
    if (gate.isOpen) answerCompleted(response, id);
    else answerOutput(response, { entity: { id, status: 'running' }, result: {} });
  });
  const run = await planRun(rig.folder, 4, { request: { window: 2 } });
  const handle = await startRun(rig.client, run.request);
  await until('the window is full', () => rig.stub.conversions.size === 2);
  const account = refuseAfter(0);
  gate.isOpen = true;
  await untilRefused(handle);
  expect(await handle.state()).toMatchObject({ succeeded: 2, failed: 0 });
  account.mend();
  await handle.appReady();
  expect((await endBatch(handle, run)).result).toMatchObject({ succeeded: 4 });
});

it('an app that is said to be ready and is not holds the same items again', async () => {
  const account = refuseAfter(1, 'FREE_PLAN_DISALLOWED');
  const run = await planRun(rig.folder, 4, { request: { window: 2 } });
  const handle = await startRun(rig.client, run.request);
  const { inFlight } = await untilRefused(handle);
  await handle.appReady();
  await until('they are refused again', () => rig.stub.refused.length >= 2 * inFlight);
  await untilRefused(handle);
  account.mend();
  await handle.appReady();
  expect((await endBatch(handle, run)).result).toMatchObject({ succeeded: 4, failed: 0 });
});

it('a refusal that was under way when the app was said to be ready holds nothing again', async () => {
  const account = refuseAfter(0);
  const late = { isOut: false };
  rig.stub.on('upload/file', async (seen, response) => {
    if (late.isOut || !seen.body.includes('Report 2\n')) rig.stub.answerAsAlways(seen, response);
    else {
      await until('the app is said to be ready', () => late.isOut);
      answerError(response, 403, 'INVALID_CREDENTIAL');
    }
  });
  const refuses = rig.stub.refuse;
  rig.stub.refuse = (seen) => (seen.body.includes('Report 2\n') ? undefined : refuses(seen));
  const run = await planRun(rig.folder, 3, { request: { window: 2 } });
  const handle = await startRun(rig.client, run.request);
  await until('one is held, one under way', async () => {
    const { needsAttention, inFlight } = await handle.state();
    return needsAttention?.jobs === 1 && inFlight === 2 && rig.stub.count('upload/file') === 2;
  });
  account.mend();
  await handle.appReady();
  late.isOut = true;
  const { result } = await endBatch(handle, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: 3, failed: 0 });
  expect(result.requests).toBe(rig.stub.requests.length);
  expect(rig.stub.conversions.size).toBe(3);
});

it('an item that waited for room when its account was refused is waited for no longer', async () => {
  const arrived = { isLetIn: false };
  rig.stub.onArrival('upload/file', () => until('it may come in', () => arrived.isLetIn));
  const account = refuseAfter(0);
  const run = await planRun(rig.folder, 2, { request: { window: 1 } });
  const handle = await startRun(rig.client, run.request);
  await until('its first job is under way', async () => (await handle.state()).inFlight === 1);
  await rig.temporal.workflow
    .getHandle(run.name)
    .signal<[Partial<ItemWaits>]>('conversionItemWaits', { workflowId: run.jobId(1), code: 'DESTINATION_FULL' });
  arrived.isLetIn = true;
  await until('it is refused', async () => (await handle.state()).needsAttention?.code === 'INVALID_CREDENTIAL');
  account.mend();
  await handle.appReady();
  expect((await endBatch(handle, run)).result).toMatchObject({ status: 'completed', succeeded: 2 });
});

it('a smaller window also holds for the items that were held', async () => {
  const account = refuseAfter(0);
  const run = await planRun(rig.folder, 4, { request: { window: 3 } });
  const handle = await startRun(rig.client, run.request);
  await untilRefused(handle);
  await handle.setWindow(1);
  await handle.appReady();
  await until('they are refused again', async () => (await handle.state()).needsAttention?.jobs === 1);
  expect(rig.stub.refused).toHaveLength(4);
  account.mend();
  await handle.appReady();
  expect((await endBatch(handle, run)).result).toMatchObject({ succeeded: 4, failed: 0 });
});

it('held items survive a new run of the batch', async () => {
  const account = refuseAfter(0);
  const run = await planRun(rig.folder, 4, { request: { window: 2, historyLimit: 30 } });
  const handle = await startRun(rig.client, run.request);
  await untilRefused(handle);
  await until('it has continued as new', async () => {
    await handle.setWindow(2);
    return (await runsOf(rig.temporal, run.name)).length > 1;
  });
  expect(await untilRefused(handle)).toMatchObject({
    failed: 0,
    needsAttention: { code: 'INVALID_CREDENTIAL', jobs: 2, app },
  });
  expect(rig.stub.refused).toHaveLength(2);
  account.mend();
  await handle.appReady();
  const { result } = await endBatch(handle, run);
  expect(result).toMatchObject({ succeeded: 4, failed: 0 });
  expect(result.requests).toBe(rig.stub.requests.length);
});

it.each(['cancel', 'finish'] as const)(
  'a batch that is cancelled (%s) while its account is refused ends, and run again it converts the rest',
  async (inFlight) => {
    const account = refuseAfter(1);
    const desk = new BatchDesk(rig, 'fail', { window: 2 });
    for (let file = 1; file <= 4; file += 1) await desk.put(`${file}.md`);
    const handle = await desk.start();
    await untilRefused(handle);
    await handle.cancel({ inFlight });
    const ended = await desk.end(handle);
    expect(ended.result).toMatchObject({ status: 'cancelled', succeeded: 1, failed: 0, cancelled: 3 });
    account.mend();
    expect((await desk.run()).result).toMatchObject({ status: 'completed', failed: 0 });
    expect(rig.stub.conversions.size).toBe(4);
    expect(await desk.problems()).toEqual([]);
  },
);

it('a paused batch continues only when its account is taken again and it is resumed, in either order', async () => {
  const account = refuseAfter(1);
  const run = await planRun(rig.folder, 4, { request: { window: 2 } });
  const handle = await startRun(rig.client, run.request);
  await untilRefused(handle);
  await handle.pause();
  await handle.resume();
  expect(await handle.state()).toMatchObject({ status: 'running', needsAttention: { app } });
  await handle.pause();
  account.mend();
  const started = await jobsStarted(run.name);
  await handle.appReady();
  const paused = await handle.state();
  expect(paused).toMatchObject({ status: 'paused', succeeded: 1 });
  expect(paused.needsAttention).toBeUndefined();
  // It has answered, so whatever it did at the word is in its history.
  expect(await jobsStarted(run.name)).toBe(started);
  await handle.resume();
  expect((await endBatch(handle, run)).result).toMatchObject({ succeeded: 4 });
});

async function jobsStarted(name: string): Promise<number> {
  const { events } = await rig.temporal.workflow.getHandle(name).fetchHistory();
  return (events ?? []).filter((event) => event.startChildWorkflowExecutionInitiatedEventAttributes).length;
}

it('a batch that stops for its failures does not wait for the account', async () => {
  refuseAfter(0);
  const run = await planRun(rig.folder, 5, { request: { window: 3, stopAfter: { failures: 1 } } });
  // Found missing only after the others were refused.
  const gone = fileURLToPath(run.items[1]?.source ?? '');
  await rm(gone);
  const { result, results } = await runBatch(rig.client, run);
  expect(result).toMatchObject({ status: 'stopped', failed: 1, cancelled: 4, failures: { SOURCE_NOT_FOUND: 1 } });
  expect(results.filter(({ workflowId }) => workflowId).map(({ charge }) => charge)).toEqual(['no', 'no', 'no']);
});

it('a code that concerns one file fails that file alone', async () => {
  rig.stub.refuse = ({ path, body }) =>
    path === 'upload/file' && body.includes('Report 3\n') ? 'ONLY_DEVELOPMENT_FILE' : undefined;
  const run = await planRun(rig.folder, 4, { request: { window: 2 } });
  const { result } = await runBatch(rig.client, run);
  expect(result).toMatchObject({ succeeded: 3, failed: 1, failures: { ONLY_DEVELOPMENT_FILE: 1 } });
});

it('one word tells every batch of the app, and no other batch', async () => {
  const account = refuseAfter(0);
  const runs = [await planRun(rig.folder, 1), await planRun(rig.folder, 2)];
  const handles = await Promise.all(runs.map(({ request }) => startRun(rig.client, request)));
  const other = await startRun(rig.client, { ...(await planRun(rig.folder, 1)).request, app: 'elsewhere' });
  const listed = `WorkflowType = 'conversionBatch' AND ConversionApp = '${app}' AND ConversionStatus = 'needsAttention'`;
  await until('both are listed', async () => (await rig.temporal.workflow.count(listed)).count === 2);
  account.mend();
  expect(await appReady(rig.temporal, { app })).toMatchObject({ signalled: 2, failed: 0 });
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results.map(({ succeeded }) => succeeded)).toEqual([1, 2]);
  const running = `WorkflowType = 'conversionBatch' AND ConversionApp = '${app}' AND ExecutionStatus = 'Running'`;
  await until('none is listed', async () => (await rig.temporal.workflow.count(running)).count === 0);
  expect(await appReady(rig.temporal, { app })).toMatchObject({ signalled: 0, failed: 0 });
  await other.cancel();
  await other.result();
});
