import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from '@temporalio/worker';
import { FileConversionPlugin } from '../../src/plugin';
import { activityNames } from '../../src/job/names';
import { jobIdOf } from '../../src/job/job-id';
import { runsOf } from '../support/batches';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { resetWorkflow } from '../support/reset';
import { answerError, cut } from '../support/stub-service';
import { until } from '../support/until';

/** Batches that are reset by hand, or whose jobs are reset, on a real Temporal server. */

const rig = rigOfEachTest();

async function batchOf(files: number, limits: { historyLimit?: number; window?: number; again?: true } = {}) {
  const out = path.join(rig.folder, 'out');
  await mkdir(out, { recursive: true });
  const names = Array.from({ length: files }, (_, index) => `${index + 1}.md`);
  const items = (await Promise.all(names.map((name) => rig.source(name)))).map((source, index) => ({
    source,
    output: 'pdf',
    destination: path.join(out, `${index + 1}.pdf`),
  }));
  return rig.client.startBatch({ name: randomUUID(), items, ...limits });
}

/** A submit whose answer is not in the history yet would be repeated after a reset. */
const untilPolled = async (workflowId: string, runId?: string): Promise<void> =>
  await until('its task is polled', async () => {
    const { raw } = await rig.temporal.workflow.getHandle(workflowId, runId).describe();
    return (raw.pendingActivities ?? []).some(({ activityType }) => activityType?.name === activityNames.checkTask);
  });

const idOf = (file: number) => jobIdOf(pathToFileURL(path.join(rig.folder, 'out', `${file}.pdf`)).href);

const isOver = async (file: number): Promise<boolean> =>
  (await rig.temporal.workflow.getHandle(idOf(file)).describe()).status.name !== 'RUNNING';

/** Checks that the history of a reset batch replays, as it must on a worker that takes the batch over. */
async function replays(workflowId: string): Promise<void> {
  const history = await rig.temporal.workflow.getHandle(workflowId).fetchHistory();
  await Worker.runReplayHistory({ plugins: [new FileConversionPlugin({ apps: {} })] }, history, workflowId);
}

const refused = (response: ServerResponse) => answerError(response, 403, 'INSUFFICIENT_VCREDITS');

const submitted = () => rig.stub.count('convert/file');

it('a batch that is terminated and then reset learns of jobs that ended meanwhile', async () => {
  const held = rig.stub.hold();
  const batch = await batchOf(2);
  await until('both are submitted', () => submitted() === 2);
  await rig.temporal.workflow.getHandle(batch.name).terminate();
  held.letGo();
  await until('its jobs have ended', async () => (await isOver(1)) && (await isOver(2)));
  await resetWorkflow(rig.temporal, batch.name, 'latest');
  expect(await rig.client.getBatch(batch.name).result()).toMatchObject({ status: 'completed', succeeded: 2 });
  expect(submitted()).toBe(2);
  await replays(batch.name);
});

it('a batch that is reset a second time learns of jobs that it started after the first reset', async () => {
  let held = rig.stub.hold();
  const batch = await batchOf(2, { window: 1 });
  const terminated = async (file: number) => {
    await until(`${file} is submitted`, () => submitted() === file);
    await rig.temporal.workflow.getHandle(batch.name).terminate();
    held.letGo();
    await until('its job has ended', () => isOver(file));
    held = rig.stub.hold();
    await resetWorkflow(rig.temporal, batch.name, 'latest');
  };
  await terminated(1);
  await terminated(2);
  expect(await rig.client.getBatch(batch.name).result()).toMatchObject({ status: 'completed', succeeded: 2 });
  await replays(batch.name);
});

it('a batch that is reset while its jobs run continues with them', async () => {
  const held = rig.stub.hold();
  const batch = await batchOf(2);
  await until('both are submitted', () => submitted() === 2);
  await resetWorkflow(rig.temporal, batch.name, 'latest');
  held.letGo();
  expect(await rig.client.getBatch(batch.name).result()).toMatchObject({ status: 'completed', succeeded: 2 });
  expect(submitted()).toBe(2);
  await replays(batch.name);
});

it.each(['latest', 'lastChild'] as const)(
  'a batch that was reset (%s) while its jobs run can be cancelled',
  async (point) => {
    const held = rig.stub.hold();
    const { name } = await batchOf(2);
    await until('both are submitted', () => submitted() === 2);
    await resetWorkflow(rig.temporal, name, point);
    const batch = rig.temporal.workflow.getHandle(name);
    await until('it awaits its jobs', async () => ((await batch.describe()).raw.pendingActivities ?? []).length > 0);
    await batch.cancel();
    held.letGo();
    expect(await rig.client.getBatch(name).result()).toMatchObject({ status: 'cancelled' });
    await replays(name);
  },
);

it('a batch that is reset to before it restarted a job learns of that job, and does not start it again', async () => {
  const [source, destination] = [path.join(rig.folder, '1.md'), path.join(rig.folder, 'out', '1.pdf')];
  await mkdir(path.dirname(destination));
  const request = { source, output: 'pdf', destination, onExisting: 'overwrite' } as const;
  await expect(rig.client.convert(request)).rejects.toMatchObject({ code: 'SOURCE_NOT_FOUND' });
  await rig.source('1.md');
  const { name } = await rig.client.startBatch({ name: randomUUID(), items: [request], onExisting: 'overwrite' });
  await rig.client.getBatch(name).result();
  await resetWorkflow(rig.temporal, name, 'lastChild');
  expect(await rig.client.getBatch(name).result()).toMatchObject({ status: 'completed', failed: 0 });
  expect(submitted()).toBe(1);
  await replays(name);
});

it('a batch that is reset does not repeat the wish to submit after an unknown outcome', async () => {
  rig.stub.on('convert/file', (_seen, response) => cut(response));
  const items = [
    { source: await rig.source('1.md'), output: 'pdf', destination: path.join(rig.folder, 'out', '1.pdf') },
  ];
  const request = { name: randomUUID(), items, policies: { ...quickPolicies, onUnknownOutcome: 'fail' as const } };
  await (await rig.client.startBatch(request)).result();
  await (await rig.client.startBatch({ ...request, resubmit: true })).result();
  await resetWorkflow(rig.temporal, request.name, 'start');
  expect(await rig.client.getBatch(request.name).result()).toMatchObject({ failed: 1, kept: 1 });
  expect(submitted()).toBe(2);
  await replays(request.name);
});

it('a batch that was reset and continues as new does not repeat the wish to convert everything again', async () => {
  await (await batchOf(3)).result();
  const { name } = await batchOf(3, { again: true, historyLimit: 1, window: 1 });
  await rig.client.getBatch(name).result();
  expect(submitted()).toBe(6);
  const runs = await runsOf(rig.temporal, name);
  expect(runs.length).toBeGreaterThan(1);
  await resetWorkflow(rig.temporal, name, 'start', runs[0]?.runId);
  expect(await rig.client.getBatch(name).result()).toMatchObject({ status: 'completed', failed: 0 });
  expect(submitted()).toBe(6);
});

it('a batch that is reset counts what was charged for jobs that it had started after that point', async () => {
  rig.stub.complete({ vcredits: 2 });
  const { name } = await batchOf(3, { window: 1 });
  await rig.client.getBatch(name).result();
  await resetWorkflow(rig.temporal, name, 'lastChild');
  expect(await rig.client.getBatch(name).result()).toMatchObject({ status: 'completed', vcredits: 6 });
  expect(submitted()).toBe(3);
});

it('a job that is reset after its batch has continued as new still belongs to its row', async () => {
  const held = rig.stub.hold();
  const batch = await batchOf(3, { historyLimit: 1 });
  await until('all are submitted', () => submitted() === 3);
  await until('it has continued as new', async () => (await runsOf(rig.temporal, batch.name)).length > 1);
  await untilPolled(idOf(2));
  const runId = await resetWorkflow(rig.temporal, idOf(2), 'latest');
  await untilPolled(idOf(2), runId);
  held.letGo();
  const { itemResults, ...result } = await batch.result();
  expect(result).toMatchObject({ status: 'completed', succeeded: 3 });
  expect(itemResults?.[1]).toMatchObject({ status: 'succeeded', runId });
  expect(submitted()).toBe(3);
});

it('a batch is not held up by the word of a parked job that was cancelled before its batch was reset', async () => {
  const source = await rig.source('1.md');
  const outputs = ['1.pdf', '2.pdf'].map((name) => path.join(rig.folder, 'out', name));
  await mkdir(path.join(rig.folder, 'out'));
  // The second waits for the upload of the first, and parks.
  rig.stub.first('convert/file', (response, seen) => rig.stub.answerAsAlways(seen, response), refused, refused);
  const items = outputs.map((destination) => ({ source, output: 'pdf', destination }));
  const { name } = await rig.client.startBatch({ name: randomUUID(), items, policies: quickPolicies });
  await until('the second is parked', async () => (await rig.client.getBatch(name).state()).needsAttention?.jobs === 1);
  await rig.temporal.workflow.getHandle(idOf(2)).cancel();
  expect(await rig.client.getBatch(name).result()).toMatchObject({ succeeded: 1, cancelled: 1 });
  await resetWorkflow(rig.temporal, name, 'lastChild');
  expect(await rig.client.getBatch(name).result()).toMatchObject({ status: 'completed', succeeded: 2 });
  await replays(name);
});
