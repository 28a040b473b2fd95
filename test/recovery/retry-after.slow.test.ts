import path from 'node:path';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { readPendingStep } from '../../src/client/operations/job-waiting';
import { quickPolicies } from '../support/conversion-worker';
import { workersOfEachTest } from '../support/killable-workers';
import { answerError } from '../support/stub-service';
import { until } from '../support/until';

/** Several jobs of one app hit its rate limit, with workers in separate processes. The service records the time of each request. */

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

it('a worker that replaces a killed one waits for the rest of the RETRY-AFTER, even with a new job', async () => {
  const { stub } = workers;
  const startedAtMs = Date.now();
  // A worker that restarts in the same folder finds the state of the one before.
  const worker = await workers.startWorker({ folder: workers.folder });
  // Long enough for the new worker to start before it is over, also on a slow machine.
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
