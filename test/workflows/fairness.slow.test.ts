import path from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { FileConversionPlugin } from '../../src/plugin';
import { createConversionWorker } from '../../src/worker';
import { SimulatedService } from '../http/rate-limit/simulated-service';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { answerError, startStubService, stubAppId, stubToken, type StubService } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';

/** Many jobs of one app wait for its rate limit while another app has few jobs. */

/** FILECONV_TEST_ITEMS=5000 runs the long form. */
const waiting = Number(process.env['FILECONV_TEST_ITEMS'] ?? 600);
const few = 10;
const limit = 20;
const windowMs = 4_000;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const rig = rigOfEachTest({ worker: false });

/** A service that allows this many uploads in each window. */
async function startLimitedStub(): Promise<StubService> {
  const stub = await startStubService();
  closing.push(() => stub.close());
  const window = new SimulatedService(limit, windowMs);
  stub.on('upload/file', (seen, response) => {
    const told = window.answer(Date.now());
    response.setHeader('x-ratelimit-limit', limit);
    response.setHeader('x-ratelimit-remaining', told.remaining ?? 0);
    response.setHeader('x-ratelimit-reset', told.resetSeconds ?? 0);
    if (told.throttled) answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': told.retryAfterSeconds });
    else stub.answerAsAlways(seen, response);
  });
  return stub;
}

it.each([1, 4])(
  'with %i workers, ten jobs of a second app finish while some of the hundreds before them have not begun',
  async (workers) => {
    const { temporal, taskQueue, folder } = rig;
    const source = await rig.source('a.md');
    const [crowd, other] = [await startLimitedStub(), await startLimitedStub()];
    const profile = { appId: stubAppId, token: stubToken };
    const apps = { crowd: { ...profile, baseUrl: crowd.url }, other: { ...profile, baseUrl: other.url } };
    for (let number = 0; number < workers; number += 1) {
      const native = await NativeConnection.connect({ address: testTemporalAddress() });
      const plugin = new FileConversionPlugin({ apps, workflows: number === 0 });
      const worker = await createConversionWorker({ connection: native, plugin, taskQueue, shutdownGraceMs: 100 });
      const running = worker.run();
      closing.push(async () => {
        worker.shutdown();
        await running;
        await native.close();
      });
    }
    const startAll = (app: string, count: number) => {
      const client = new FileConversionClient({ client: temporal, taskQueue, app });
      const start = (_: unknown, index: number) =>
        client.start({
          source,
          output: 'pdf',
          destination: path.join(folder, app, `${index}.pdf`),
          policies: quickPolicies,
        });
      return Promise.all(Array.from({ length: count }, start));
    };
    const first = await startAll('crowd', waiting);
    await until('the first app uses its allowance', () => crowd.count('upload/file') > limit);
    await Promise.all((await startAll('other', few)).map((handle) => handle.result()));
    const states = first.map(({ workflowId }) => temporal.workflow.getHandle(workflowId).describe());
    const asScheduled = 2;
    const notBegun = (await Promise.all(states)).filter(({ historyLength }) => historyLength <= asScheduled);
    expect(notBegun.length).toBeGreaterThan(0);
  },
  280_000,
);
