import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Client } from '@temporalio/client';
import { parseCallbackKeys } from '../src/callbacks/callback-url';
import { createSignalJob, startCallbackReceiver } from '../src/callbacks/receiver';
import type { ConversionHandle } from '../src/client/conversion-handle';
import { FileConversionClient } from '../src/client/file-conversion-client';
import { defaultTaskQueue } from '../src/job/names';
import { app } from './support/app';
import { percentile, round } from './support/figures';
import { startHeldService, type HeldService, type HoldPoint } from './support/held-service';
import { measureWithTemporal, type TemporalSetting } from './support/measurement';
import { type BenchWorkerOptions, startWorker, type ToldAttempt } from './support/worker';
import { until } from '../test/support/until';

/**
 * One worker has jobs in every phase and is killed with `kill -9`; another stands by and begins to poll at that moment. Told is how long each job
 * waits until it continues there: the next attempt of one of its activities begins. Beside them a bare workflow whose only activity heartbeats.
 */
const { values: options } = parseArgs({
  options: {
    jobs: { type: 'string', default: '100' },
    bare: { type: 'string', default: '10' },
  },
});
/** Of the activities of a job; a bare activity has the same. */
const heartbeatTimeoutMs = 10_000;
const graceMs = 5_000;

/** Those in line come last, since they can't be kept there for long. */
const points: readonly HoldPoint[] = [
  'polling',
  'parked',
  'callback',
  'uploading',
  'submitting',
  'downloading',
  'inLine',
];

interface Job {
  readonly point: HoldPoint;
  readonly handle: ConversionHandle;
}

/** When a job could have continued, and when it did. Milliseconds since the epoch. */
interface Failover {
  readonly point: HoldPoint | 'bare';
  /** An activity of it was under way on the killed worker: nobody knows that it is lost before its heartbeat time-out. */
  readonly wasThere: boolean;
  readonly waitedMs: number;
  readonly boundMs: number;
}

async function main({ folder, temporal, temporalAddress, owns }: TemporalSetting) {
  const callbackKey = randomBytes(32).toString('base64url');
  const receiver = await startCallbackReceiver({
    keys: parseCallbackKeys(callbackKey),
    signalJob: createSignalJob(temporal),
  });
  owns({ stop: () => receiver.close() });
  const services = new Map<HoldPoint, HeldService>();
  for (const point of points) services.set(point, owns(await startHeldService(point)));
  const apps = Object.fromEntries(
    [...services].map(([point, { baseUrl }]) => [
      point,
      { ...app, baseUrl, ...(point === 'callback' && { callbackBaseUrl: receiver.url }) },
    ]),
  );
  const workflowsPath = require.resolve('./support/compared-workflows');
  const workerOptions = { temporalAddress, callbackKey, apps, workflowsPath, activities: 200, standsBy: true };
  const first = owns(await startTellingWorker(workerOptions));
  const second = owns(await startTellingWorker(workerOptions));
  first.process.send('go');
  const { jobs, bareIds } = await occupy({ temporal, services, folder, attempts: first.attempts });

  const killedAt = Date.now();
  await first.stop();
  second.process.send('go');
  const wokenAt = await wake(services, jobs);
  console.log(`Killed a worker with ${jobs.length} jobs; every one of them is to continue in another.`);
  for (const service of services.values()) service.release();
  const results = await Promise.all(jobs.map(({ handle }) => handle.result()));
  await Promise.all(bareIds.map((id) => temporal.workflow.getHandle(id).result()));

  const there = underWay(first.attempts);
  const failoverOf = (point: Failover['point'], workflowId: string): Failover => {
    const wasThere = there.has(workflowId);
    const couldGoOnAt = wokenAt.get(workflowId) ?? killedAt;
    const next = second.attempts.find((attempt) => attempt.workflowId === workflowId && !attempt.hasEnded);
    if (!next) throw new Error(`${workflowId} did not continue in the second worker`);
    const boundMs = graceMs + (wasThere ? heartbeatTimeoutMs : 0);
    return { point, wasThere, waitedMs: next.at - couldGoOnAt, boundMs };
  };
  const failovers = jobs.map(({ point, handle }) => failoverOf(point, handle.workflowId));
  const bare = bareIds.map((id) => failoverOf('bare', id));
  const phases = [...points, 'bare' as const].map((point) => [point, phaseOf([...failovers, ...bare], point)] as const);
  for (const [point, phase] of phases) console.log(described(point, phase));
  const worst = failovers.reduce((one, other) => (nearness(other) > nearness(one) ? other : one));
  return {
    ratio: round(nearness(worst)),
    worstSeconds: seconds(worst.waitedMs),
    boundSeconds: seconds(worst.boundMs),
    withinBound: failovers.every((job) => job.waitedMs <= job.boundMs),
    bareWorstSeconds: seconds(Math.max(...bare.map(({ waitedMs }) => waitedMs))),
    jobs: jobs.length,
    succeeded: results.filter(({ status }) => status === 'succeeded').length,
    possiblyChargedTwice: results.filter((result) => result.possiblyChargedTwice).length,
    phases: Object.fromEntries(phases),
  };
}

async function startTellingWorker(options: BenchWorkerOptions) {
  const worker = await startWorker(options);
  const attempts: ToldAttempt[] = [];
  worker.process.on('message', (attempt) => attempts.push(attempt as ToldAttempt));
  return { ...worker, attempts };
}

interface Occupation {
  readonly temporal: Client;
  readonly services: ReadonlyMap<HoldPoint, HeldService>;
  readonly folder: string;
  /** Of the worker that is to be killed. */
  readonly attempts: readonly ToldAttempt[];
}

/** Brings jobs to every point, and as many bare workflows as were asked for into their activity. */
async function occupy({
  temporal,
  services,
  folder,
  attempts,
}: Occupation): Promise<{ jobs: Job[]; bareIds: string[] }> {
  const source = path.join(folder, 'report.md');
  await writeFile(source, '# A report\n');
  const start = (point: HoldPoint, id: string) =>
    new FileConversionClient({ client: temporal, app: point }).start(
      {
        source,
        output: 'pdf',
        destination: path.join(folder, 'out', `${id}.pdf`),
        // On a slow machine too, nobody polls who waits for a callback.
        policies: { maxCheckInterval: '3 seconds', pollAfter: '10 minutes' },
      },
      { workflowId: id },
    );
  // That there is no limit a worker learns from the first answer, and until then it asks one thing at a time.
  const asking = points.filter((point) => !isWoken(point));
  await Promise.all(asking.map(async (point) => (await start(point, `first/${point}`)).result()));
  for (const service of services.values()) service.hold();

  const jobs: Job[] = [];
  const startJobs = async (point: HoldPoint) => {
    const started = Array.from({ length: share(point) }, (_, job) => start(point, `${point}/${job}`));
    jobs.push(...(await Promise.all(started)).map((handle) => ({ point, handle })));
  };
  for (const point of points) if (point !== 'inLine') await startJobs(point);
  await untilHeld(services, jobs);
  const bareIds = Array.from({ length: Number(options.bare) }, (_, index) => `bare/${index}`);
  const bareOptions = { taskQueue: defaultTaskQueue, args: [heartbeatTimeoutMs] };
  for (const workflowId of bareIds) {
    await temporal.workflow.start('heartbeatingWorkflow', { ...bareOptions, workflowId });
  }
  await (await start('inLine', 'spends-the-allowance')).result();
  await startJobs('inLine');
  await until('every job has an attempt under way, or waits for a word', () => {
    const there = underWay(attempts);
    const isThere = ({ point, handle }: Job) => isWoken(point) || there.has(handle.workflowId);
    return jobs.every(isThere) && bareIds.every((id) => there.has(id));
  });
  return { jobs, bareIds };
}

/** How many of the jobs stand at this point: as even as it goes. */
function share(point: HoldPoint): number {
  const upTo = (index: number) => Math.floor((Number(options.jobs) * index) / points.length);
  const index = points.indexOf(point);
  return upTo(index + 1) - upTo(index);
}

/** Those have no activity that a worker could lose: they wait for a word, and get it after the kill. */
function isWoken(point: HoldPoint): boolean {
  return point === 'callback' || point === 'parked';
}

/** Resolves when every job stands where its service holds it. */
async function untilHeld(services: ReadonlyMap<HoldPoint, HeldService>, jobs: readonly Job[]): Promise<void> {
  for (const [point, service] of services) {
    const own = jobs.filter((job) => job.point === point);
    if (!isWoken(point)) {
      await until(`${own.length} jobs are held: ${point}`, () => service.held() >= own.length);
      continue;
    }
    // One job asks for all that have too few vCredits, so the service does not see each of them.
    const phase = point === 'parked' ? 'parked' : 'converting';
    for (const { handle } of own) {
      await until(`${handle.workflowId} is ${phase}`, async () => (await handle.state()).phase === phase);
    }
  }
}

/** Workflows with an attempt that has begun and not ended. */
function underWay(attempts: readonly ToldAttempt[]): Set<string> {
  const open = new Set<string>();
  for (const { workflowId, hasEnded } of attempts) {
    if (hasEnded) open.delete(workflowId);
    else open.add(workflowId);
  }
  return open;
}

/** Calls back, and tells of vCredits: when, by workflow. */
async function wake(services: ReadonlyMap<HoldPoint, HeldService>, jobs: readonly Job[]): Promise<Map<string, number>> {
  const wokenAt = new Map<string, number>();
  for (const point of ['callback', 'parked'] as const) services.get(point)?.release();
  for (const url of services.get('callback')?.callbackUrls ?? []) {
    const [, id = ''] = /^\/([^.]+)\./.exec(new URL(url).pathname) ?? [];
    wokenAt.set(Buffer.from(id, 'base64url').toString(), Date.now());
    const { status } = await fetch(url, { method: 'POST', body: '{}' });
    if (status !== 204) throw new Error(`A callback was answered with ${status}.`);
  }
  for (const { point, handle } of jobs) {
    if (point !== 'parked') continue;
    wokenAt.set(handle.workflowId, Date.now());
    await handle.appReady();
  }
  return wokenAt;
}

function phaseOf(failovers: readonly Failover[], point: Failover['point']) {
  const own = failovers.filter((failover) => failover.point === point);
  const sorted = own.map(({ waitedMs }) => waitedMs).sort((a, b) => a - b);
  return {
    jobs: own.length,
    onKilledWorker: own.filter(({ wasThere }) => wasThere).length,
    p50Seconds: seconds(percentile(sorted, 0.5)),
    p99Seconds: seconds(percentile(sorted, 0.99)),
    maxSeconds: seconds(percentile(sorted, 1)),
    boundSeconds: seconds(Math.min(...own.map(({ boundMs }) => boundMs))),
  };
}

function described(point: string, phase: ReturnType<typeof phaseOf>): string {
  const { jobs, onKilledWorker, p50Seconds, p99Seconds, maxSeconds, boundSeconds } = phase;
  const times = `p50 ${p50Seconds} s  p99 ${p99Seconds} s  max ${maxSeconds} s  (bound ${boundSeconds} s)`;
  return `${point.padEnd(11)} ${jobs} jobs, ${onKilledWorker} with an activity on the killed worker  ${times}`;
}

function nearness({ waitedMs, boundMs }: Failover): number {
  return waitedMs / boundMs;
}

function seconds(milliseconds: number): number {
  return round(milliseconds / 1_000);
}

void measureWithTemporal(main);
