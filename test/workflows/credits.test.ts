import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { signalAppReady } from '../../src/client/operations/signal-app';
import { activityNames } from '../../src/job/names';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { answerError, answerOutput, answerRunning } from '../support/stub-service';
import { until } from '../support/until';

/** Jobs that wait for vCredits, on a real Temporal server. */

const jobs = 6;
const funded = 2;

const rig = rigOfEachTest({ app: 'short-of-credits' });

/** Simulates an app with vCredits for this many conversions. */
function fund(balance: number) {
  const account = { balance, charged: 0 };
  rig.stub.on('convert/file', (_seen, response) => {
    if (account.balance === 0) {
      answerError(response, 403, 'INSUFFICIENT_VCREDITS');
      return;
    }
    account.balance -= 1;
    account.charged += 1;
    answerRunning(response, `task-${account.charged}`);
  });
  return account;
}

/** Leaves the first requests to an endpoint unanswered until a test refuses them. */
function hold(endpoint: 'upload/file' | 'convert/file', count: number) {
  const held: ServerResponse[] = [];
  let asked = 0;
  rig.stub.on(endpoint, (seen, response) => {
    asked += 1;
    if (asked <= count) held.push(response);
    else rig.stub.answerAsAlways(seen, response);
  });
  return {
    async untilAsked() {
      await until('it has asked', () => held.length > 0);
    },
    refuse() {
      const response = held.shift();
      if (!response) throw new Error('nothing is held');
      answerError(response, 403, 'INSUFFICIENT_VCREDITS');
    },
  };
}

let started = 0;

async function start(count: number) {
  const source = await rig.source('report.md');
  return Promise.all(
    Array.from({ length: count }, () =>
      rig.client.start({
        source,
        output: 'pdf',
        destination: path.join(rig.folder, `${(started += 1)}.pdf`),
        // So long that no parked job probes on its own within a test.
        policies: { ...quickPolicies, retryMaximumInterval: '1 minute' },
      }),
    ),
  );
}

async function parked(): Promise<number> {
  const query = `ConversionApp = 'short-of-credits' AND ConversionStatus = 'parked' AND ExecutionStatus = 'Running' AND TaskQueue = '${rig.taskQueue}'`;
  return (await rig.temporal.workflow.count(query)).count;
}

it('converts as many jobs as there are vCredits for; later ones park without a request, and one command resumes all', async () => {
  const account = fund(funded);
  const handles = await start(funded + 2);
  await until('two are parked', async () => (await parked()) === 2);
  expect(account.charged).toBe(funded);
  const asked = rig.stub.count('convert/file');
  handles.push(...(await start(jobs - handles.length)));
  await until('the others are parked', async () => (await parked()) === jobs - funded);
  // They relied on the refusals of the first jobs.
  expect(rig.stub.count('convert/file')).toBe(asked);

  account.balance = jobs;
  const restored = await signalAppReady(rig.temporal, { app: 'short-of-credits' });
  // Jobs of other tests that are not listed yet may be signalled too.
  expect(restored.signalled).toBeGreaterThanOrEqual(jobs - funded);
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: jobs }, () => 'succeeded'));
  expect(results.some(({ possiblyChargedTwice }) => possiblyChargedTwice)).toBe(false);
  expect(account.charged).toBe(jobs);
});

it('one command sends all jobs the same timestamp, so that one refusal counts for all of them', async () => {
  const account = fund(0);
  const handles = await start(3);
  await until('they are parked', async () => (await parked()) === 3);
  await signalAppReady(rig.temporal, { app: 'short-of-credits' });
  await until('each has tried again', async () => (await wordsOf(handles)).length >= 3);
  expect(new Set(await wordsOf(handles)).size).toBe(1);
  account.balance = 3;
  await signalAppReady(rig.temporal, { app: 'short-of-credits' });
  await Promise.all(handles.map((handle) => handle.result()));
});

/** The times at which vCredits were announced, as passed to each submit of a parked job. */
async function wordsOf(handles: readonly ConversionHandle[]): Promise<number[]> {
  const histories = await Promise.all(handles.map(({ workflowId }) => rig.events(workflowId)));
  return histories.flat().flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    if (scheduled?.activityType?.name !== activityNames.convertFile) return [];
    const [input] = scheduled.input?.payloads ?? [];
    const { readyAt } = JSON.parse(Buffer.from(input?.data ?? []).toString()) as { readyAt?: number };
    return readyAt ?? [];
  });
}

it('a job that is resumed in vain parks again, and continues when there are vCredits', async () => {
  const account = fund(0);
  const handle = await startOne();
  await until('it is parked', async () => (await parked()) === 1);
  for (let told = 1; told <= 2; told += 1) {
    await handle.appReady();
    await until('it has asked again', () => rig.stub.count('convert/file') === 1 + told);
  }
  expect((await handle.state()).phase).toBe('parked');
  account.balance = 1;
  await handle.appReady();
  expect(await handle.result()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
  expect(account.charged).toBe(1);
});

it('jobs whose uploads expire while they wait all continue once there are vCredits, despite earlier false announcements', async () => {
  const account = fund(0);
  const uploads = new Set<string>();
  rig.stub.on('upload/file', (_seen, response) => {
    const connector = randomUUID();
    uploads.add(connector);
    answerOutput(response, { connector, size: 1 });
  });
  rig.stub.on('convert/file', (seen, response) => {
    if (!uploads.has(seen.connector)) answerError(response, 404, 'FILE_NOT_EXISTS');
    else if (account.balance === 0) answerError(response, 403, 'INSUFFICIENT_VCREDITS');
    else {
      account.balance -= 1;
      answerRunning(response, randomUUID());
    }
  });
  const handles = await start(3);
  const areParked = async () => {
    const states = await Promise.all(handles.map((handle) => handle.state()));
    return states.every(({ phase }) => phase === 'parked') && (await parked()) === 3;
  };
  await until('all are parked', areParked);
  for (let round = 0; round < 2; round += 1) {
    const uploaded = rig.stub.count('upload/file');
    uploads.clear();
    await signalAppReady(rig.temporal, { app: 'short-of-credits' });
    // One job probes for all, and is refused.
    await until('one has uploaded again', () => rig.stub.count('upload/file') > uploaded);
    await until('all are parked again', areParked);
  }
  uploads.clear();
  const uploadsBefore = rig.stub.count('upload/file');
  account.balance = 3;
  await signalAppReady(rig.temporal, { app: 'short-of-credits' });
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results.map(({ status }) => status)).toEqual(Array(3).fill('succeeded'));
  expect(rig.stub.count('upload/file') - uploadsBefore).toBeLessThanOrEqual(6);
});

describe('an announcement of vCredits during a request that is still refused', () => {
  it('makes a parked job ask again at once', async () => {
    const { service, job } = await startParkedThatAsks();
    await job.appReady();
    await until('its submit is to be cancelled', async () => (await looksAtSubmit(job)) >= 2);
    service.refuse();
    expect(await job.result()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(rig.stub.count('convert/file')).toBe(3);
  });

  it.each(['upload/file', 'convert/file'] as const)(
    'makes a job that was not parked ask again at once: %s',
    async (endpoint) => {
      const service = hold(endpoint, 1);
      const job = await startOne();
      await service.untilAsked();
      await job.appReady();
      service.refuse();
      expect(await job.result()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
      expect(rig.stub.count(endpoint)).toBe(2);
    },
  );
});

it('a parked job that is cancelled while its request is refused ends as cancelled', async () => {
  const { service, job } = await startParkedThatAsks();
  await job.cancel();
  await until('its submit is to be cancelled', async () => (await looksAtSubmit(job)) >= 2);
  service.refuse();
  await expect(job.result()).rejects.toMatchObject({ code: 'CANCELLED' });
  expect((await rig.temporal.workflow.getHandle(job.workflowId).describe()).status.name).toBe('CANCELLED');
  expect(rig.stub.count('convert/file')).toBe(2);
});

async function startOne(): Promise<ConversionHandle> {
  const [job] = await start(1);
  if (!job) throw new Error('no job');
  return job;
}

/** A parked job whose second request is in flight. */
async function startParkedThatAsks() {
  const service = hold('convert/file', 2);
  const job = await startOne();
  await service.untilAsked();
  service.refuse();
  await until('it is parked', async () => (await job.state()).phase === 'parked');
  await job.appReady();
  await service.untilAsked();
  await untilBeaten(job);
  return { service, job };
}

/** From its first regular heartbeat on, a worker's SDK hears of a cancellation later than the activity does. */
async function untilBeaten(job: ConversionHandle): Promise<void> {
  await until('it has had a regular heartbeat', async () => {
    const [activity] = (await job.describe()).raw.pendingActivities ?? [];
    const { lastStartedTime, lastHeartbeatTime } = activity ?? {};
    return Number(lastHeartbeatTime?.seconds ?? 0) - Number(lastStartedTime?.seconds ?? Infinity) >= 2;
  });
}

/** How often the job has looked whether its submit can be cancelled, by local activities. */
async function looksAtSubmit(job: ConversionHandle): Promise<number> {
  return (await rig.events(job.workflowId)).filter((event) => event.markerRecordedEventAttributes).length;
}
