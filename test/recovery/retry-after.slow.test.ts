import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import type { ConversionJobResult } from '../../src/job/types';
import { quickPolicies } from '../support/conversion-worker';
import { answerError, answerJson, startStubService, type StubService } from '../support/stub-service';
import { testClient } from '../support/temporal';
import { until } from '../support/until';
import { WorkerProcess } from '../support/worker-process';

/**
 * Several jobs of one app meet its rate limit, with workers in processes of their own. Each scene has a service of its own, which knows when it
 * was asked; the scenes run at the same time.
 */

/** How long the service of the killed worker asks to wait, at least; `RETRY_AFTER_SECONDS=90` for the long run. */
const leastRestartSeconds = Number(process.env['RETRY_AFTER_SECONDS'] ?? 20);
/** The worker in its place is there before that is over, however long a worker takes to start on this machine. */
let restartSeconds: number;
const jobsOfAScene = 5;

let folder: string;
let temporal: Client;
const workers: WorkerProcess[] = [];
const stubs = new Map<string, StubService>();
const scenes = ['one', 'seven', 'restart', 'told', 'refused-often'] as const;
type Scene = (typeof scenes)[number];
let running: ReturnType<typeof startScenes>;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'fileconv-limited-'));
  await writeFile(path.join(folder, 'report.md'), '# A report\n');
  temporal = await testClient();
  for (const scene of scenes) stubs.set(scene, await startStubService());
  const startedAtMs = Date.now();
  await startWorker('steady');
  restartSeconds = Math.max(leastRestartSeconds, Math.ceil((Date.now() - startedAtMs) / 250));
  running = startScenes();
  // Each is awaited by its own test; until then its failure is nobody's.
  for (const scene of Object.values(running)) scene.catch(() => undefined);
});

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  await Promise.all([...stubs.values()].map((stub) => stub.close()));
  await temporal.connection.close();
  await rm(folder, { recursive: true, force: true });
});

/** A worker that starts again under the same name finds the state of the one before. */
async function startWorker(name: string): Promise<WorkerProcess> {
  const own = path.join(folder, name);
  await mkdir(own, { recursive: true });
  const apps = Object.fromEntries([...stubs].map(([app, { url }]) => [app, url]));
  const worker = await WorkerProcess.start({ taskQueue: taskQueueOf(name), folder: own, apps });
  workers.push(worker);
  return worker;
}

function taskQueueOf(worker: string): string {
  return `${path.basename(folder)}-${worker}`;
}

function stubOf(scene: Scene): StubService {
  const stub = stubs.get(scene);
  if (!stub) throw new Error(`There is no service for ${scene}.`);
  return stub;
}

let started = 0;

function startJob(scene: Scene, worker = 'steady'): Promise<ConversionHandle> {
  started += 1;
  const client = new FileConversionClient({ client: temporal, taskQueue: taskQueueOf(worker), app: scene });
  return client.start({
    source: path.join(folder, 'report.md'),
    output: 'pdf',
    destination: path.join(folder, 'out', `${scene}-${started}.pdf`),
    policies: quickPolicies,
  });
}

function startJobs(scene: Scene, worker?: string): Promise<ConversionHandle[]> {
  return Promise.all(Array.from({ length: jobsOfAScene }, () => startJob(scene, worker)));
}

function resultsOf(jobs: readonly ConversionHandle[]): Promise<ConversionJobResult[]> {
  return Promise.all(jobs.map((job) => job.result()));
}

/** The first request to an endpoint is refused. Returns when, in milliseconds since the epoch. */
function refuseFirst(stub: StubService, endpoint: string, seconds: number): { atMs: number } {
  const refused = { atMs: 0 };
  stub.on(endpoint, (seen, response) => {
    if (stub.count(endpoint) > 1) {
      stub.answerAsAlways(seen, response);
      return;
    }
    refused.atMs = Date.now();
    answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': String(seconds) });
  });
  return refused;
}

function laterRequests(stub: StubService, endpoint: string, { atMs }: { atMs: number }): number[] {
  return stub.requests
    .filter((seen) => seen.path === endpoint)
    .slice(1)
    .map((seen) => seen.at - atMs);
}

function expectExactRequests(results: readonly ConversionJobResult[], stub: StubService): void {
  expect(results.map(({ status }) => status)).toEqual(results.map(() => 'succeeded'));
  expect(results.reduce((sum, { requests }) => sum + requests, 0)).toBe(stub.requests.length);
}

interface Outcome {
  /** When the endpoint was asked, but for the first time; in milliseconds after it refused. */
  later: number[];
  results: ConversionJobResult[];
}

/** Five jobs, the first of which is refused. */
async function refuseOne(scene: Scene, endpoint: string, seconds: number): Promise<Outcome> {
  const stub = stubOf(scene);
  const refused = refuseFirst(stub, endpoint, seconds);
  const first = await startJob(scene);
  // On a slow machine the others would ask before the refusal is there: nobody waits for an answer for long.
  const isKnown = async () => stub.count(endpoint) > 1 || (await pendingAttempt(first)) === 2;
  await until('the end of the first attempt', isKnown);
  const others = await Promise.all(Array.from({ length: jobsOfAScene - 1 }, () => startJob(scene)));
  const results = await resultsOf([first, ...others]);
  return { results, later: laterRequests(stub, endpoint, refused) };
}

/** As before; then the worker is killed, another takes its place, and a sixth job comes. */
async function refuseOneAndRestart(): Promise<Outcome> {
  const stub = stubOf('restart');
  const refused = refuseFirst(stub, 'upload/file', restartSeconds);
  const worker = await startWorker('killed');
  const jobs = await startJobs('restart', 'killed');
  await until('the end of each first attempt', async () => {
    const attempts = await Promise.all(jobs.map(pendingAttempt));
    return attempts.every((attempt) => attempt === 2);
  });
  await worker.kill();
  await startWorker('killed');
  jobs.push(await startJob('restart', 'killed'));
  if (Date.now() > refused.atMs + restartSeconds * 1_000)
    throw new Error('the other worker came too late to show anything');
  return { results: await resultsOf(jobs), later: laterRequests(stub, 'upload/file', refused) };
}

async function refuseOften(): Promise<ConversionJobResult> {
  const stub = stubOf('refused-often');
  stub.on('upload/file', (seen, response) => {
    const count = stub.count('upload/file');
    if (count <= 6) answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '1' });
    else if (count <= 10) answerJson(response, 200, 'a page of something else');
    else stub.answerAsAlways(seen, response);
  });
  return (await startJob('refused-often')).result();
}

/** Uploads have a limit of two in three seconds. */
async function tellTheLimit() {
  const stub = stubOf('told');
  const [limit, windowMs] = [2, 3_000];
  let window = { endsAtMs: 0, used: 0 };
  const seenWindows: (typeof window)[] = [];
  stub.on('upload/file', (seen, response) => {
    if (seen.at >= window.endsAtMs) {
      window = { endsAtMs: seen.at + windowMs, used: 0 };
      seenWindows.push(window);
    }
    window.used += 1;
    response.setHeader('x-ratelimit-limit', limit);
    response.setHeader('x-ratelimit-remaining', Math.max(0, limit - window.used));
    response.setHeader('x-ratelimit-reset', Math.ceil((window.endsAtMs - seen.at) / 1_000));
    stub.answerAsAlways(seen, response);
  });
  const results = await resultsOf(await startJobs('told'));
  return { results, usedInWindows: seenWindows.map(({ used }) => used) };
}

function startScenes() {
  return {
    one: refuseOne('one', 'task/response', 1),
    seven: refuseOne('seven', 'convert/file', 7),
    restart: refuseOneAndRestart(),
    told: tellTheLimit(),
    often: refuseOften(),
  };
}

it.each([
  [1, 'one'],
  [7, 'seven'],
] as const)('RETRY-AFTER %i: no job sends to that class before it is over', async (seconds, scene) => {
  const { later, results } = await running[scene];
  expect(later.length).toBeGreaterThanOrEqual(jobsOfAScene);
  expect(Math.min(...later)).toBeGreaterThanOrEqual(seconds * 1_000);
  expectExactRequests(results, stubOf(scene));
});

it('a worker that takes the place of a killed one waits for the rest, also with a job that comes only then', async () => {
  const { later, results } = await running.restart;
  expect(later).toHaveLength(jobsOfAScene + 1);
  expect(Math.min(...later)).toBeGreaterThanOrEqual(restartSeconds * 1_000);
  expectExactRequests(results, stubOf('restart'));
});

it('no attempt is used up: after six refusals four unreadable answers are still forgiven', async () => {
  const result = await running.often;
  expect(stubOf('refused-often').count('upload/file')).toBe(11);
  expectExactRequests([result], stubOf('refused-often'));
});

it('at X-RATELIMIT-REMAINING 0 nothing is sent before X-RATELIMIT-RESET', async () => {
  const { usedInWindows, results } = await running.told;
  expect(usedInWindows).toEqual([2, 2, 1]);
  expectExactRequests(results, stubOf('told'));
});

/** Number of the attempt that the job's activity makes or waits for. */
async function pendingAttempt(handle: ConversionHandle): Promise<number | undefined> {
  const { raw } = await handle.describe();
  return raw.pendingActivities?.[0]?.attempt ?? undefined;
}
