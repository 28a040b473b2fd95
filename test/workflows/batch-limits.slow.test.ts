import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isBatchRunning } from '../../src/client/batch-handle';
import { readListing } from '../../src/client/operations/list-jobs';
import { maxWindow } from '../../src/batch/model/types';
import { endBatch, planRun, runBatch, type Run, startRun } from '../support/batches';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { answerOutput } from '../support/stub-service';
import { until } from '../support/until';

/** Batches at the limits of a worker and of Temporal. */

let rig: ConversionRig;
afterEach(() => rig.close());

/** A batch that continues as new with its first jobs in flight. Jobs with such a long check interval release their slot between checks. */
const goesOn = { window: 4, historyLimit: 20, policies: { ...quickPolicies, maxCheckInterval: 2_300 } };
const hasGoneOn = async ({ name }: Run) => {
  const { raw, runId } = await rig.temporal.workflow.getHandle(name).describe();
  return raw.workflowExecutionInfo?.firstRunId !== runId;
};

it.each([
  { slots: 1, batches: 1 },
  { slots: 3, batches: 3 },
])(
  'with $slots worker slots and $batches batches waiting for jobs of earlier runs, all jobs get a slot and waiting adds no history',
  async ({ slots, batches }) => {
    rig = await startRig({ slots });
    const held = rig.stub.hold('1.md', '2.md');
    const waiting = await Promise.all(
      Array.from({ length: batches }, async () => {
        const run = await planRun(rig.folder, 6, { request: goesOn });
        return { run, handle: await startRun(rig.client, run.request) };
      }),
    );
    for (const { run, handle } of waiting) {
      await until('the others have ended', async () => (await handle.state()).succeeded === 4);
      await until('it has continued as new', () => hasGoneOn(run));
    }
    const look = async ({ run: { name } }: (typeof waiting)[number]) => {
      const { raw, historyLength } = await rig.temporal.workflow.getHandle(name).describe();
      return { attempt: raw.pendingActivities?.[0]?.attempt ?? 0, historyLength };
    };
    for (const each of waiting) {
      let before = await look(each);
      await until('it has come again, and nothing else', async () => {
        const now = await look(each);
        const isQuiet = now.historyLength === before.historyLength && before.attempt > 0;
        if (!isQuiet) before = now;
        return isQuiet && now.attempt > before.attempt;
      });
    }
    held.letGo();
    for (const { handle, run } of waiting) expect((await endBatch(handle, run)).result).toMatchObject({ succeeded: 6 });
  },
  120_000,
);

it('continues as new with the maximum number of jobs in flight, all with paths of maximum length', async () => {
  rig = await startRig();
  rig.stub.fail('upload/file', 429, 'TOO_MANY_REQUESTS', { 'retry-after': '3600' });
  // A fifth of the maximum is enough to extrapolate from.
  const jobs = maxWindow / 5;
  // Each of these characters takes nine bytes when percent-encoded.
  const folder = path.join(rig.folder, ...['漢', '字', '夾'].map((name) => name.repeat(80)));
  await mkdir(folder, { recursive: true });
  const sources = Array.from({ length: jobs + 1 }, (_, item) => path.join(folder, `報告-${item}.md`));
  await Promise.all(sources.map((source) => writeFile(source, '# Report\n')));
  const run = await planRun(rig.folder, jobs, {
    change: (row) => {
      const source = pathToFileURL(sources[row.item] ?? '').href;
      return { ...row, source, destination: `${source}.pdf` };
    },
    request: { window: jobs, historyLimit: jobs },
  });
  const handle = await startRun(rig.client, run.request);
  await until('all are in flight', async () => (await handle.state()).inFlight === jobs);
  let carried = '';
  await until('it has continued with all of them', async () => {
    // Any signal makes the batch check the size of its history.
    await handle.setWindow(jobs);
    carried = await carriedInFlight(run.name);
    return (JSON.parse(carried) as unknown[]).length === jobs;
  });
  expect(await handle.state()).toMatchObject({ status: 'running', failed: 0, inFlight: jobs });
  // Temporal's limit is two million.
  expect((carried.length / jobs) * maxWindow).toBeLessThan(300_000);
  await rig.temporal.workflow.getHandle(run.name).terminate();
});

/** What the latest run of the batch received from the run before. */
async function carriedInFlight(workflowId: string): Promise<string> {
  const { history } = await rig.temporal.workflowService.getWorkflowExecutionHistory({
    namespace: 'default',
    execution: { workflowId },
    maximumPageSize: 1,
  });
  const [, carried] = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  // The first run receives nothing.
  const { inFlight = [] } = JSON.parse(Buffer.from(carried?.data ?? '{}').toString()) as { inFlight?: unknown[] };
  return JSON.stringify(inFlight);
}

it('takes 60 MB of warnings and keeps some of them for each row', async () => {
  rig = await startRig();
  const warning = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`warning-${n}`, 'x'.repeat(20_000)]));
  rig.stub.on('task/response', ({ connector: id }, response) => {
    answerOutput(response, {
      entity: { id, type: 'task', status: 'completed' },
      result: { output: { connector: id, status: 'successful', duration: 1 }, error: {}, warning },
    });
  });
  const { result, results } = await runBatch(rig.client, await planRun(rig.folder, 60));
  expect(result).toMatchObject({ succeeded: 60 });
  expect(results.every(({ warnings }) => Object.keys(warnings ?? {}).length > 0)).toBe(true);
});

it('keeps running while an operator has paused jobs of earlier runs, and ends once they are unpaused', async () => {
  rig = await startRig();
  const held = rig.stub.hold('1.md', '2.md', '3.md');
  const run = await planRun(rig.folder, 8, { request: goesOn });
  const handle = await startRun(rig.client, run.request);
  await until('the others have ended', async () => (await handle.state()).succeeded === 5);
  await until('it has continued as new', () => hasGoneOn(run));
  const { workflowService } = rig.temporal;
  const by = { namespace: 'default', identity: 'operator', reason: 'by hand' };
  const paused = { ...by, workflowId: run.jobId(1), runId: '' };
  const activity = { ...by, execution: { workflowId: run.jobId(2) }, type: 'conversion.checkTask' };
  await workflowService.pauseWorkflowExecution({ ...paused, requestId: randomUUID() });
  await workflowService.pauseActivity(activity);
  held.letGo();
  await until('the third has ended', async () => (await handle.state()).succeeded === 6);
  expect(await handle.state()).toMatchObject({ status: 'running', inFlight: 2 });
  await workflowService.unpauseWorkflowExecution({ ...paused, requestId: randomUUID() });
  await workflowService.unpauseActivity(activity);
  expect((await endBatch(handle, run)).result).toMatchObject({ succeeded: 8 });
});

it('reports a batch and a job with paused workflows as running', async () => {
  rig = await startRig({ worker: false });
  const run = await planRun(rig.folder, 1);
  await startRun(rig.client, run.request);
  const job = await rig.client.start({ source: await rig.source('1.md'), output: 'pdf' });
  for (const workflowId of [run.name, job.workflowId]) {
    const by = { namespace: 'default', identity: 'operator', reason: 'by hand', requestId: randomUUID() };
    await rig.temporal.workflowService.pauseWorkflowExecution({ ...by, workflowId, runId: '' });
  }
  expect(await isBatchRunning(rig.temporal, run.name)).toBe(true);
  const listed = async () => {
    for await (const info of rig.temporal.workflow.list({ query: `WorkflowId = '${job.workflowId}'` })) return info;
    return undefined;
  };
  await until('it is listed as paused', async () => (await listed())?.status.name === 'PAUSED');
  const info = await listed();
  expect(info && readListing(info).status).toBe('running');
});
