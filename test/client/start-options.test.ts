import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { FileConversionClient, JobRunningError } from '../../src/client/file-conversion-client';
import { InvalidRequestError } from '../../src/client/job-request';
import { listJobs } from '../../src/client/operations/list-jobs';
import { findSearchAttributes, registerSearchAttributes } from '../../src/client/operations/search-attributes';
import type { StartOptions } from '../../src/client/start-options';
import { searchAttributeNames } from '../../src/job/search-attribute-types';
import { searchAttributes } from '../../src/job/search-attributes';
import { planRun, startRun } from '../support/batches';
import { type ConversionRig, quickPolicies, rigOfAllTests, startRig } from '../support/conversion-worker';
import { conversionsOf } from '../support/invariant';
import { newNamespace } from '../support/namespace';
import { testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';

const rig = rigOfAllTests();

const start = async (options: StartOptions, on: Pick<ConversionRig, 'client' | 'source'> = rig) =>
  on.client.start({ source: await on.source('report.md'), output: 'pdf', policies: quickPolicies }, options);

it('many starts with one id make one job, and all of them get its result', async () => {
  const workflowId = `invoice/${randomUUID()}`;
  const before = conversionsOf(rig.stub).length;
  const jobs = await Promise.all(Array.from({ length: 20 }, () => start({ workflowId })));
  expect(new Set((await Promise.all(jobs.map((job) => job.result()))).map(({ taskId }) => taskId)).size).toBe(1);
  expect(conversionsOf(rig.stub).length - before).toBe(1);
});

it('a start that would attach rejects the id of another kind of workflow', async () => {
  const { request, name } = await planRun(rig.folder, 0);
  const batch = await startRun(rig.client, request, { startDelay: '1 hour' });
  await expect(start({ workflowId: name })).rejects.toThrow(`${name} is that of a running conversionBatch`);
  const job = await start({ workflowId: `job-${randomUUID()}`, startDelay: '1 hour' });
  const batchOfThatName = startRun(rig.client, { ...request, name: job.workflowId }, { onRunning: 'attach' });
  await expect(batchOfThatName).rejects.toThrow(`${job.workflowId} is that of a running conversionJob`);
  await Promise.all([job, batch].map((each) => each.cancel()));
  await rig.temporal.workflow.getHandle(name).terminate();
});

it('a start is rejected while a different conversion is running under its id', async () => {
  const workflowId = `invoice/${randomUUID()}`;
  const job = await start({ workflowId, startDelay: '1 hour' });
  const other = { source: await rig.source('other.md'), output: 'pdf', policies: quickPolicies };
  await expect(rig.client.start(other, { workflowId })).rejects.toThrow(JobRunningError);
  await job.cancel();
});

it('priority, delay and versioning reach Temporal; the fairness key is the app', async () => {
  const job = await start({
    priority: { priorityKey: 1, fairnessWeight: 2 },
    startDelay: '1 hour',
    versioningOverride: 'AUTO_UPGRADE',
  });
  const { priority, raw } = await job.describe();
  expect(priority).toEqual({ priorityKey: 1, fairnessKey: 'stub', fairnessWeight: 2 });
  // `temporal.api.enums.v1.VersioningBehavior`: auto-upgrade.
  expect(raw.workflowExecutionInfo?.versioningInfo?.versioningOverride?.behavior).toBe(2);
  const { executionTime, startTime } = raw.workflowExecutionInfo ?? {};
  expect(Number(executionTime?.seconds) - Number(startTime?.seconds)).toBe(3_600);
  await job.cancel();
});

it('jobs are listed by their tags, including those of a batch, which inherit its tags and fairness', async () => {
  const tag = `march '26 ${randomUUID()}`;
  const job = await start({ tags: [tag, 'second'] });
  const run = await planRun(rig.folder, 2);
  const batch = await startRun(rig.client, run.request, { tags: [tag], priority: { fairnessWeight: 3 } });
  await Promise.all([job.result(), batch.result()]);
  const listed = () => listJobs(rig.temporal, { tag }, 10);
  await until('all of them are listed', async () => (await listed()).total === 3);
  expect((await listed()).jobs.map(({ tags }) => tags)).toContainEqual([tag, 'second']);
  const { priority } = await rig.client.get(run.jobId(1)).describe();
  expect(priority).toEqual({ priorityKey: 4, fairnessKey: 'stub', fairnessWeight: 3 });
});

it('jobs of a batch have its priority key if it was started with one', async () => {
  const run = await planRun(rig.folder, 1);
  const batch = await startRun(rig.client, run.request, { priority: { priorityKey: 5 } });
  await batch.result();
  const { priority } = await rig.client.get(run.jobId(1)).describe();
  expect(priority).toMatchObject({ priorityKey: 5, fairnessKey: 'stub' });
});

it.each<[object, RegExp]>([
  [{ workflowId: '' }, /workflowId/],
  [{ workflowId: 'half \ud83d' }, /workflowId: must be well-formed/],
  [{ workflowID: 'invoice' }, /"workflowID"/],
  [{ resubmit: 'yes' }, /resubmit/],
  [{ onRunning: 'attach' }, /"onRunning"/],
  [{ again: 'no' }, /again/],
  [{ startDelay: 'soon' }, /startDelay: must be .* not "soon"/],
  [{ startDelay: -5 }, /startDelay/],
  [{ tags: [''] }, /tags\.0/],
  [{ tags: ['the "good" ones'] }, /tags\.0: must be .* without double quotes/],
  [{ tags: Array.from({ length: 21 }, String) }, /tags/],
  [{ priority: { priorityKey: 6 } }, /priority\.priorityKey/],
  [{ priority: { fairnessKey: 'ä'.repeat(33) } }, /priority\.fairnessKey: must be at most 64 bytes/],
  [{ priority: { fairnessKey: 'half \ud83d' } }, /priority\.fairnessKey: must be at most 64 bytes/],
])('a start with %j is rejected, and the message names the field', async (options, message) => {
  const started = start(options);
  await expect(started).rejects.toThrow(InvalidRequestError);
  await expect(started).rejects.toThrow(message);
});

it('a batch is not started with options of a job, which would do nothing', async () => {
  const started = rig.client.startBatch({ name: `b-${randomUUID()}`, items: [] }, { again: true } as object);
  await expect(started).rejects.toThrow('"again"');
});

it('in a namespace without one of the attributes, jobs run unlisted, and tags are rejected until it is registered', async () => {
  const namespace = await newNamespace(rig.temporal);
  const client = new Client({ connection: rig.temporal.connection, namespace });
  const before = searchAttributeNames.filter((name) => name !== searchAttributes.tags.name);
  const [keyword, int] = [2, 3];
  const types = before.map((name) => [name, name === 'ConversionVCredits' ? int : keyword]);
  await rig.temporal.connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(types) as Record<string, number>,
  });
  await until('they are there', async () => (await findSearchAttributes(client)).present.length === before.length);
  const old = await startRig({ app: 'old', temporal: { address: testTemporalAddress(), namespace } });
  try {
    const untagged = await start({}, old);
    await untagged.result();
    expect((await untagged.describe()).typedSearchAttributes.get(searchAttributes.app)).toBeUndefined();
    await expect(start({ tags: ['march'] }, old)).rejects.toThrow(/ConversionTags.*fileconv namespace init/);

    expect((await registerSearchAttributes(client)).added).toEqual(['ConversionTags']);
    const newer = new FileConversionClient({ client, taskQueue: old.taskQueue, app: 'old' });
    const tagged = await start({ tags: ['march'] }, { ...old, client: newer });
    await tagged.result();
    expect((await tagged.describe()).typedSearchAttributes.get(searchAttributes.tags)).toEqual(['march']);
  } finally {
    await old.close();
  }
});
