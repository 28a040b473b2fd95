import { randomUUID } from 'node:crypto';
import { NativeConnection, type Worker } from '@temporalio/worker';
import type { BatchHandle } from '../../src/client/batch-handle';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { FileConversionPlugin } from '../../src/plugin';
import type { ConversionPolicies } from '../../src/job/types';
import { createConversionWorker } from '../../src/worker';
import { endBatch, planRun, runsOf, type Run, startRun } from '../support/batches';
import { inThisThread, quickPolicies, rigOfAllTests } from '../support/conversion-worker';
import { makeCurrent } from '../support/deployment';
import { answerCompleted, answerNotYet, stubAppId, stubToken } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { retryJob } from '../support/retry';
import { until } from '../support/until';

/*
 * Workers of two versions of one deployment, side by side on one task queue. A job and a batch start under version 1, then version 2
 * becomes current, another job starts, and only then do conversions finish.
 */
const deploymentName = `test-${randomUUID()}`;
const batchItems = 6;
const workers = new Map<string, { worker: Worker; running: Promise<void> }>();
let connection: NativeConnection;
let isHeld = true;
// Registered first, so that it runs before the rig closes.
afterAll(async () => {
  isHeld = false;
  await Promise.all([...workers.keys()].map(stopWorker));
  await connection.close();
});
const rig = rigOfAllTests({ worker: false });
let old: ConversionHandle;
let young: ConversionHandle;
let lost: ConversionHandle;
let batch: BatchHandle;
let run: Run;

beforeAll(async () => {
  connection = await NativeConnection.connect({ address: testTemporalAddress() });
  const { stub, temporal, client, folder } = rig;
  stub.on('task/response', ({ connector: id }, response) => {
    if (isHeld) answerNotYet(response, id);
    else answerCompleted(response, id);
  });
  await startWorker('1');
  await makeCurrent(temporal, deploymentName, '1');
  stub.fail('download/url', 403, 'FREE_PLAN_DISALLOWED');
  isHeld = false;
  lost = await startJob('lost.md', { parkedDeadline: '1 second' });
  await lost.result().catch(() => undefined);
  isHeld = true;
  old = await startJob('old.md');
  run = await planRun(folder, batchItems, { request: { window: 2 } });
  batch = await startRun(client, run.request);
  await until('the old job converts', () => converts(old));
  await until('a job of the batch converts', () => converts(client.get(run.jobId(1))));
  await startWorker('2');
  await makeCurrent(temporal, deploymentName, '2');
  young = await startJob('young.md');
  await until('the new job converts', () => converts(young));
  stub.asAlways('download/url');
  isHeld = false;
});

async function startWorker(buildId: string): Promise<void> {
  const version = { deploymentName, buildId };
  const { taskQueue, stub } = rig;
  const plugin = new FileConversionPlugin({
    apps: { stub: { baseUrl: stub.url, appId: stubAppId, token: stubToken } },
  });
  const worker = await inThisThread(() =>
    createConversionWorker({ connection, plugin, taskQueue, version, shutdownGraceMs: 1_000 }),
  );
  workers.set(buildId, { worker, running: worker.run() });
}

async function stopWorker(buildId: string): Promise<void> {
  const stopped = workers.get(buildId);
  workers.delete(buildId);
  stopped?.worker.shutdown();
  await stopped?.running;
}

async function startJob(name: string, policies: ConversionPolicies = {}): Promise<ConversionHandle> {
  const source = await rig.source(name);
  return rig.client.start({
    source,
    output: 'pdf',
    destination: `${source}.pdf`,
    policies: { ...quickPolicies, ...policies },
  });
}

/** Returns false also for a job that has not been started yet. */
const converts = async (job: ConversionHandle): Promise<boolean> =>
  job.state().then(
    ({ phase }) => phase === 'converting',
    () => false,
  );

/** The distinct build ids of the workers that ran the workflow's tasks. */
async function buildsOf(workflowId: string, runId?: string): Promise<string[]> {
  const { events } = await rig.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
  const builds = (events ?? []).flatMap(({ workflowTaskCompletedEventAttributes: completed }) =>
    completed ? [completed.deploymentVersion?.buildId ?? 'none'] : [],
  );
  return [...new Set(builds)];
}

it('finishes a job on the old version if it started there', async () =>
  expect([(await old.result()).status, await buildsOf(old.workflowId)]).toEqual(['succeeded', ['1']]));

it('starts new jobs on the new version', async () =>
  expect([(await young.result()).status, await buildsOf(young.workflowId)]).toEqual(['succeeded', ['2']]));

it('moves a batch and its new jobs to the new version when it continues as new, and loses none', async () => {
  expect((await endBatch(batch, run)).result).toMatchObject({ status: 'completed', succeeded: batchItems });
  const runs = await runsOf(rig.temporal, run.name);
  expect(await Promise.all(runs.map(({ runId }) => buildsOf(run.name, runId)))).toEqual([['1'], ['2']]);
  expect([await buildsOf(run.jobId(1)), await buildsOf(run.jobId(batchItems))]).toEqual([['1'], ['2']]);
});

it('retries a job of the old version on the new one, also when no worker of the old version is left', async () => {
  await stopWorker('1');
  const again = await retryJob(rig.temporal, lost.workflowId);
  expect(await again.result()).toMatchObject({ status: 'succeeded', charge: 'yes' });
  expect(await buildsOf(lost.workflowId)).toEqual(['2']);
});
