import path from 'node:path';
import { SimulatedService } from '../http/rate-limit/simulated-service';
import { quickPolicies, rigOfAllTests } from '../support/conversion-worker';
import { answerError } from '../support/stub-service';
import { until } from '../support/until';

const rig = rigOfAllTests({ slots: 4 });

it('jobs that are cancelled while their submits take up all slots are not submitted one after the other', async () => {
  const { stub, client, folder } = rig;
  const window = new SimulatedService(4, 2_000);
  stub.on('convert/file', (seen, response) => {
    const { throttled, retryAfterSeconds, remaining = 0, resetSeconds = 0 } = window.answer(Date.now());
    response.setHeader('x-ratelimit-limit', 4);
    response.setHeader('x-ratelimit-remaining', remaining);
    response.setHeader('x-ratelimit-reset', resetSeconds);
    if (throttled) answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': retryAfterSeconds });
    else stub.answerAsAlways(seen, response);
  });
  const source = await rig.source('a.md');
  const start = (_: unknown, index: number) =>
    client.start({ source, output: 'pdf', destination: path.join(folder, `${index}.pdf`), policies: quickPolicies });
  const jobs = await Promise.all(Array.from({ length: 40 }, start));
  await until('all are uploaded', () => stub.count('upload/file') >= jobs.length);
  const before = stub.conversions.size;
  await Promise.all(jobs.map((job) => job.cancel()));
  await Promise.allSettled(jobs.map((job) => job.result()));
  expect(stub.conversions.size - before).toBeLessThan((jobs.length - before) / 2);
}, 120_000);
