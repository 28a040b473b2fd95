import path from 'node:path';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { readPendingStep } from '../../src/client/operations/job-waiting';
import { quickPolicies } from '../support/conversion-worker';
import { workersOfEachTest } from '../support/killable-workers';
import { answerError } from '../support/stub-service';
import { until } from '../support/until';

/** Several jobs of one app meet its rate limit, with workers in processes of their own; the service knows when it was asked. */

const jobsOfAScene = 5;
const workers = workersOfEachTest();
let started = 0;

async function startJob(): Promise<ConversionHandle> {
  const name = String((started += 1));
  return workers.client.start({
    source: await workers.source(`${name}.md`),
    output: 'pdf',
    destination: path.join(workers.folder, 'out', `${name}.pdf`),
    policies: quickPolicies,
  });
}

const startJobs = (count: number) => Promise.all(Array.from({ length: count }, startJob));
const attemptOf = async (job: ConversionHandle) => readPendingStep(await job.describe())?.attempt;

/** The first request to an endpoint is refused. */
function refuseFirst(endpoint: string, seconds: number): void {
  workers.stub.first(endpoint, (response) =>
    answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': String(seconds) }),
  );
}

/** All succeed and own up to their requests, of which none but the first came before the end of the wait. */
async function expectWait(jobs: readonly ConversionHandle[], endpoint: string, seconds: number): Promise<void> {
  const results = await Promise.all(jobs.map((job) => job.result()));
  expect(results.map(({ status }) => status)).toEqual(results.map(() => 'succeeded'));
  expect(results.reduce((sum, { requests }) => sum + requests, 0)).toBe(workers.stub.requests.length);
  const [first, ...later] = workers.stub.requests.filter((seen) => seen.path === endpoint).map(({ at }) => at);
  expect(later).toHaveLength(jobs.length);
  expect(Math.min(...later) - (first ?? 0)).toBeGreaterThanOrEqual(seconds * 1_000);
}

it('RETRY-AFTER 7: no job sends to that class before it is over', async () => {
  await workers.startWorker();
  refuseFirst('convert/file', 7);
  const first = await startJob();
  // On a slow machine the others would ask before the refusal is there: nobody waits for an answer for long.
  await until('the end of the first attempt', async () => (await attemptOf(first)) === 2);
  await expectWait([first, ...(await startJobs(jobsOfAScene - 1))], 'convert/file', 7);
});

it('a worker that takes the place of a killed one waits for the rest, also with a job that comes only then', async () => {
  const startedAtMs = Date.now();
  // One that starts again in the same folder finds the state of the one before.
  const worker = await workers.startWorker({ folder: workers.folder });
  // The worker in its place is there before that is over, however long a worker takes to start on this machine.
  const seconds = Math.max(20, Math.ceil((Date.now() - startedAtMs) / 250));
  refuseFirst('upload/file', seconds);
  const jobs = await startJobs(jobsOfAScene);
  await until('the end of each first attempt', async () =>
    (await Promise.all(jobs.map(attemptOf))).every((attempt) => attempt === 2),
  );
  await worker.kill();
  await workers.startWorker({ folder: workers.folder });
  jobs.push(await startJob());
  const refusedAtMs = workers.stub.requests.find((seen) => seen.path === 'upload/file')?.at ?? 0;
  expect(Date.now()).toBeLessThan(refusedAtMs + seconds * 1_000);
  await expectWait(jobs, 'upload/file', seconds);
});
