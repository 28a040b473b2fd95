import path from 'node:path';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { readPendingStep } from '../../src/client/operations/job-waiting';
import { quickPolicies } from '../support/conversion-worker';
import { workersOfEachTest } from '../support/killable-workers';
import { answerError } from '../support/stub-service';
import { until } from '../support/until';

/** Several jobs of one app meet its rate limit, with workers in processes of their own; the service knows when it was asked. */

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

const attemptOf = async (job: ConversionHandle) => readPendingStep(await job.describe())?.attempt;

it('a worker that takes the place of a killed one waits for the rest, also with a job that comes only then', async () => {
  const { stub } = workers;
  const startedAtMs = Date.now();
  // One that starts again in the same folder finds the state of the one before.
  const worker = await workers.startWorker({ folder: workers.folder });
  // The worker in its place is there before that is over, however long a worker takes to start on this machine.
  const seconds = Math.max(20, Math.ceil((Date.now() - startedAtMs) / 250));
  stub.first('upload/file', (response) =>
    answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': String(seconds) }),
  );
  const jobs = await Promise.all(Array.from({ length: 5 }, startJob));
  await until('the end of each first attempt', async () =>
    (await Promise.all(jobs.map(attemptOf))).every((attempt) => attempt === 2),
  );
  await worker.kill();
  await workers.startWorker({ folder: workers.folder });
  jobs.push(await startJob());
  const uploadedAtMs = () => stub.requests.flatMap(({ path: asked, at }) => (asked === 'upload/file' ? [at] : []));
  const [refusedAtMs = 0] = uploadedAtMs();
  const endsAtMs = refusedAtMs + seconds * 1_000;
  expect(Date.now()).toBeLessThan(endsAtMs);

  const results = await Promise.all(jobs.map((job) => job.result()));
  expect(results.map(({ status }) => status)).toEqual(results.map(() => 'succeeded'));
  expect(results.reduce((sum, { requests }) => sum + requests, 0)).toBe(stub.requests.length);
  const [, ...later] = uploadedAtMs();
  expect(later).toHaveLength(jobs.length);
  expect(Math.min(...later)).toBeGreaterThanOrEqual(endsAtMs);
});
