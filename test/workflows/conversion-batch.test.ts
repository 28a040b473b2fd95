import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BatchFailedError } from '../../src/client/batch-handle';
import { InvalidRequestError } from '../../src/client/job-request';
import { batchStateQuery, conversionBatchType, conversionItemWaitsSignal } from '../../src/job/names';
import { BatchTally } from '../../src/workflows/batch/batch-tally';
import { BatchDesk } from '../support/batch-desk';
import { endBatch, planRun, runBatch, sumOf, startRun } from '../support/batches';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { until } from '../support/until';

/** Batches on a real Temporal server, with a service that answers at once unless a test holds it. */

const rig = rigOfEachTest();

it('converts every item of the manifest once, and reports what each cost', async () => {
  const run = await planRun(rig.folder, 8, { request: { window: 3 } });
  const { result, results } = await runBatch(rig.client, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: 8, failed: 0, vcredits: 8, window: 3 });
  expect(result.requests).toBe(rig.stub.requests.length);
  expect(rig.stub.count('convert/file')).toBe(8);
  expect(results[6]).toMatchObject({
    item: 7,
    status: 'succeeded',
    workflowId: run.jobId(7),
    source: { bytes: 11 },
    output: { bytes: 9, name: '7.pdf' },
    vcredits: 1,
  });
  expect(await readFile(run.output(8), 'utf8')).toBe('PK result');
});

it('never has more jobs in flight than the window, which can be changed while it runs', async () => {
  const held = rig.stub.hold();
  const run = await planRun(rig.folder, 8, { request: { window: 2 } });
  const handle = await startRun(rig.client, run.request);
  await until('the window is full', () => rig.stub.count('convert/file') === 2);
  expect(await handle.state()).toMatchObject({ status: 'running', inFlight: 2, waiting: 6, window: 2 });
  await handle.setWindow(5);
  await until('the larger one is full', () => rig.stub.count('convert/file') === 5);
  expect(sumOf(await handle.state())).toBe(8);
  await expect(handle.setWindow(501)).rejects.toBeInstanceOf(InvalidRequestError);
  // The workflow ignores an invalid window that bypasses the client.
  await rig.temporal.workflow.getHandle(run.name).signal('batchWindow', -1);
  expect(await handle.state()).toMatchObject({ inFlight: 5, waiting: 3, window: 5 });
  held.letGo();
  expect((await endBatch(handle, run)).result).toMatchObject({ status: 'completed', succeeded: 8, window: 5 });
});

it('starts nothing while it is paused, and continues when it is resumed', async () => {
  const held = rig.stub.hold();
  const run = await planRun(rig.folder, 5, { request: { window: 2 } });
  const handle = await startRun(rig.client, run.request);
  await until('the window is full', () => rig.stub.count('convert/file') === 2);
  await handle.pause();
  held.letGo();
  await until('those in flight have ended', async () => (await handle.state()).inFlight === 0);
  expect(await handle.state()).toMatchObject({ status: 'paused', succeeded: 2, waiting: 3 });
  const query = `ConversionBatchId = '${run.name}' AND WorkflowType = 'conversionBatch' AND ConversionStatus = 'paused'`;
  await until('it is listed as paused', async () => (await rig.temporal.workflow.count(query)).count === 1);
  expect(rig.stub.count('upload/file')).toBe(2);
  await handle.resume();
  expect((await endBatch(handle, run)).result).toMatchObject({ status: 'completed', succeeded: 5 });
});

describe('a cancelled batch', () => {
  it.each([
    ['lets the jobs in flight finish when it is asked to', 'finish', { succeeded: 2, cancelled: 3 }],
    ['cancels the jobs in flight', 'cancel', { succeeded: 0, cancelled: 5 }],
  ] as const)('%s', async (_title, inFlight, counts) => {
    const held = rig.stub.hold();
    const run = await planRun(rig.folder, 5, { request: { window: 2 } });
    const handle = await startRun(rig.client, run.request);
    await until('the window is full', () => rig.stub.count('convert/file') === 2);
    await handle.cancel({ inFlight });
    await until('it stops', async () => (await handle.state()).status !== 'running');
    // Otherwise a job could finish before its cancellation arrives.
    if (inFlight === 'finish') held.letGo();
    const { result, results } = await endBatch(handle, run);
    expect(result).toMatchObject({ status: 'cancelled', failed: 0, ...counts });
    // Two uploads and two submits, including those of jobs that reported none.
    expect(result.requests).toBeGreaterThanOrEqual(4);
    expect(results.filter(({ workflowId }) => workflowId !== undefined)).toHaveLength(2);
    expect(rig.stub.count('convert/file')).toBe(2);
    expect(await handle.state()).toMatchObject({ status: 'cancelled', ...counts });
  });

  it('ends at once while planning; pausing it then is refused', async () => {
    const desk = new BatchDesk(rig);
    await desk.put('1.md');
    rig.stub.on('convert/graph', () => undefined);
    const batch = await desk.start();
    await until('it asks about formats', () => rig.stub.count('convert/graph') > 0);
    await expect(batch.pause()).rejects.toThrow('It is still looking for files.');
    expect(await batch.cancel()).toMatchObject({ status: 'planning' });
    expect(await batch.result()).toMatchObject({ status: 'cancelled', items: 0 });
  });

  it("ends with its results after Temporal's own cancellation too", async () => {
    rig.stub.hold();
    const run = await planRun(rig.folder, 3, { request: { window: 2 } });
    const handle = await startRun(rig.client, run.request);
    await until('the window is full', () => rig.stub.count('convert/file') === 2);
    await rig.temporal.workflow.getHandle(run.name).cancel();
    expect((await endBatch(handle, run)).result).toMatchObject({ status: 'cancelled', cancelled: 3 });
  });
});

it('starts no more jobs once its runs have spent maxVcredits, and continues with a higher limit', async () => {
  const sources = path.join(rig.folder, 'spending');
  await mkdir(sources);
  for (let file = 1; file <= 6; file += 1) await writeFile(path.join(sources, `${file}.md`), `# ${file}\n`);
  const folders = { out: path.join(rig.folder, 'spent'), runs: path.join(rig.folder, 'spending-runs') };
  const request = { name: `batch-${randomUUID()}`, sources: [sources], to: 'pdf', ...folders, window: 2 };
  const spend = async (maxVcredits: number) => {
    const batch = await rig.client.startBatch({ ...request, maxVcredits, policies: quickPolicies });
    const { status, succeeded, cancelled, inFlight } = await batch.result();
    expect(inFlight).toBe(0);
    return { status, succeeded, cancelled };
  };
  const first = await spend(2);
  // One job over the limit may be in flight.
  expect(first.succeeded).toBeGreaterThanOrEqual(2);
  expect(first.succeeded).toBeLessThanOrEqual(3);
  expect(first).toMatchObject({ status: 'budget', cancelled: 6 - first.succeeded });
  expect(await spend(2)).toEqual({ status: 'budget', succeeded: 0, cancelled: 6 - first.succeeded });
  expect(rig.stub.conversions.size).toBe(first.succeeded);
  // The last file uses up the budget, so nothing was stopped.
  expect(await spend(6)).toEqual({ status: 'completed', succeeded: 6 - first.succeeded, cancelled: 0 });
  expect(rig.stub.conversions.size).toBe(6);
});

it('ends at once with nothing to do', async () => {
  const { result } = await runBatch(rig.client, await planRun(rig.folder, 0));
  expect(result).toMatchObject({ status: 'completed', items: 0, succeeded: 0 });
});

describe('the manifest', () => {
  async function failureOf(run: Awaited<ReturnType<typeof planRun>>): Promise<BatchFailedError> {
    const ended = (await startRun(rig.client, run.request)).result();
    const error: unknown = await ended.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof BatchFailedError)) throw new Error('the batch did not fail', { cause: error });
    return error;
  }

  it('ends the batch if it is damaged, and the message names the line', async () => {
    const run = await planRun(rig.folder, 2);
    await appendFile(path.join(run.folder, 'manifest.jsonl'), '[]\n');
    const failure = await failureOf(run);
    expect(failure.code).toBe('RUN_DAMAGED');
    expect(failure.message).toContain('manifest.jsonl line 3 is damaged: ');
    expect(rig.stub.requests).toEqual([]);
  });

  it('ends the batch if it is missing', async () => {
    const run = await planRun(rig.folder, 1);
    await rm(run.folder, { recursive: true });
    expect((await failureOf(run)).code).toBe('RUN_MISSING');
  });

  it('is not created for an invalid input', async () => {
    const plan = { folder: 'file:///batch/', cwd: 'file:///', what: { sources: ['in'], to: 'pdf' } };
    const start = (input: object) =>
      rig.temporal.workflow.execute('conversionBatch', {
        workflowId: `wrong-${randomUUID()}`,
        taskQueue: rig.taskQueue,
        args: [{ app: 'stub', plan, ...input }],
      });
    for (const wrong of [{ window: 0 }, { plan: { ...plan, folder: '/tmp' } }, { items: [] }, { plan: undefined }])
      await expect(start(wrong)).rejects.toMatchObject({ cause: { type: 'INVALID_BATCH' } });
    await expect(start({ policies: { submitTimeout: 'soon' } })).rejects.toMatchObject({
      cause: { type: 'INVALID_JOB' },
    });
  });
});

it('gives its jobs a lower priority than single jobs, and lists them under its name', async () => {
  const run = await planRun(rig.folder, 2);
  await runBatch(rig.client, run);
  const describe = (id: string) => rig.temporal.workflow.getHandle(id).describe();
  expect((await describe(run.jobId(1))).priority?.priorityKey).toBe(4);
  // The rate limiter's queue is ordered by the priority of the activities.
  const events = await rig.events(run.jobId(1));
  const activities = events.flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
  expect(activities.map(({ priority }) => priority?.priorityKey)).toEqual([4, 4, 4, 4]);
  const query = `ConversionBatchId = '${run.name}' AND WorkflowType = 'conversionJob' AND ConversionStatus = 'completed'`;
  await until('both are listed', async () => (await rig.temporal.workflow.count(query)).count === 2);
});

it('a run that continues another one receives the signals of its jobs with its first task', async () => {
  rig.stub.refuse = ({ path: endpoint }) => (endpoint === 'upload/file' ? 'INVALID_CREDENTIAL' : undefined);
  const policies = { onRefusedAccount: 'park', retryMaximumInterval: '1 hour' } as const;
  const job = await rig.client.start(await rig.request({ policies }));
  await until('the job is parked', async () => (await job.state()).phase === 'parked');
  const { workflowId } = job;
  const entry = { item: 1, byte: 0, workflowId, startedAt: Date.now(), step: { kind: 'awaited' } };
  const carried = {
    ...{ startedAt: Date.now(), window: 1, isPaused: false, isCancelling: false, parts: 0 },
    ...{ position: { byte: 1, item: 1 }, totals: new BatchTally().totals, inFlight: [entry], results: [] },
  };
  const item = { item: 1, source: 'file:///a.md', output: 'pdf', destination: 'file:///a.pdf' };
  const batch = await rig.temporal.workflow.signalWithStart(conversionBatchType, {
    workflowId: `batch-${randomUUID()}`,
    taskQueue: rig.taskQueue,
    args: [{ app: rig.app, items: [item] }, carried],
    signal: conversionItemWaitsSignal,
    signalArgs: [{ workflowId, code: 'INVALID_CREDENTIAL', message: 'refused' }],
  });
  expect(await batch.query(batchStateQuery)).toMatchObject({ inFlight: 1, needsAttention: { jobs: 1 } });
  await Promise.all([batch.terminate(), job.cancel()]);
});
