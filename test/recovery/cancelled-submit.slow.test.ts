import path from 'node:path';
import { readPendingStep } from '../../src/client/operations/job-waiting';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { quickPolicies } from '../support/conversion-worker';
import { workersOfEachTest } from '../support/killable-workers';
import { answerError } from '../support/stub-service';
import { until } from '../support/until';

/**
 * A worker is killed after it has sent the convert request, and the submit is to be cancelled before its next attempt. Temporal would cancel
 * it at once, and forget its heartbeat.
 */

const workers = workersOfEachTest();

/** Leaves time before the next attempt. */
const slow = { retryInitialInterval: '20 seconds', retryMaximumInterval: '20 seconds' } as const;

async function requestOf(policies: object) {
  return {
    source: await workers.source('report.md'),
    output: 'pdf',
    destination: path.join(workers.folder, 'report.pdf'),
    policies: { ...quickPolicies, ...policies },
  };
}

const untilLost = (job: ConversionHandle) =>
  until('its submit waits for the next attempt', async () => {
    const step = readPendingStep(await job.describe());
    return step?.attempt !== undefined && step.attempt > 1;
  });

it('a job that is cancelled then still may have been charged', async () => {
  const { stub, client, startWorker } = workers;
  const request = await requestOf({ ...slow, onUnknownOutcome: 'fail' });
  const doomed = await startWorker();
  stub.first('convert/file', (_response, seen) => void stub.convert(seen));
  const job = await client.start(request);
  await until('it is submitted', () => stub.conversions.size === 1);
  await doomed.kill();
  await startWorker();
  await untilLost(job);
  await job.cancel();
  await expect(job.result()).rejects.toMatchObject({ details: { charge: 'maybe' } });
  await expect(client.convert(request)).rejects.toMatchObject({ details: { charge: 'maybe' } });
  expect(stub.conversions.size).toBe(1);
});

it('a parked job that is told to try again then marks what it submits', async () => {
  const { stub, client, startWorker } = workers;
  const request = await requestOf({ ...slow, onUnknownOutcome: 'resubmit' });
  const doomed = await startWorker();
  let isHeld = false;
  stub.on('convert/file', (seen, response) => {
    if (isHeld) stub.answerAsAlways(seen, response);
    else if (stub.count('convert/file') === 1) answerError(response, 403, 'INSUFFICIENT_VCREDITS');
    else {
      isHeld = true;
      stub.convert(seen);
    }
  });
  const job = await client.start(request);
  await until('it is parked', async () => (await job.state()).phase === 'parked');
  await job.appReady();
  await until('it is submitted', () => stub.conversions.size === 1);
  await doomed.kill();
  await startWorker();
  await untilLost(job);
  await job.appReady();
  expect(await job.result()).toMatchObject({ possiblyChargedTwice: true });
  expect(stub.conversions.size).toBe(2);
});
