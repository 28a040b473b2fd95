import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { NativeConnection } from '@temporalio/worker';
import type { ConversionFailedError } from '../../src/client/conversion-handle';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { FileConversionPlugin } from '../../src/plugin';
import type { ConversionPolicies } from '../../src/job/types';
import { createConversionWorker } from '../../src/worker';
import { inThisThread, quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { answerError, startStubService, stubAppId, stubToken, type StubService } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';

/** Sends an endless answer, one byte at a time. */
function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 200);
  response.once('close', () => clearInterval(timer));
}

describe('a submit that is answered one byte at a time', () => {
  const rig = rigOfEachTest();

  beforeEach(() => rig.stub.on('convert/file', (_seen, response) => drip(response)));

  it('ends by submitTimeout with an unknown outcome, and names the reason', async () => {
    const policies = { submitTimeout: '3 seconds', onUnknownOutcome: 'fail' } as const;
    await expect(rig.client.convert(await rig.request({ policies }))).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringMatching(/the answer was not complete within [12]\.\d s/) as string,
    });
    expect(rig.stub.count('convert/file')).toBe(1);
  });

  it('is given up when the grace period of a worker shutdown is over', async () => {
    const { workflowId } = await rig.client.start(await rig.request({ policies: { submitTimeout: '1 minute' } }));
    await until('it is submitted', () => rig.stub.count('convert/file') === 1);
    // The grace period of this worker is one second.
    await rig.stopWorker();
    const events = await rig.events(workflowId);
    expect(events.map(({ activityTaskFailedEventAttributes: failed }) => failed?.failure)).toContainEqual(
      expect.objectContaining({
        message: expect.stringContaining('the worker was shut down') as string,
        applicationFailureInfo: expect.objectContaining({ type: 'OUTCOME_UNKNOWN' }) as object,
      }),
    );
  });
});

describe('a download that is answered late', () => {
  const rig = rigOfEachTest();

  it('is not delivered when its job has failed by then', async () => {
    const { stub } = rig;
    const letGo: (() => void)[] = [];
    stub.on('download/url', (seen, response) => {
      const [first] = stub.requests.filter(({ path }) => path === 'download/url');
      // The last attempt is so young at the deadline that no heartbeat has told it.
      if (Date.now() < (first?.at ?? 0) + 3_000) answerError(response, 500, 'INTERNAL_SERVER_ERROR');
      else stub.answerAsAlways(seen, response);
    });
    stub.on('download/url/get', (seen, response) => void letGo.push(() => stub.answerAsAlways(seen, response)));
    const request = await rig.request({ policies: { downloadDeadline: 4_000 } });
    const failure = (await rig.client.convert(request).catch((error: unknown) => error)) as ConversionFailedError;
    expect(failure.code).toBe('DOWNLOAD_DEADLINE');
    // The two of the last attempt are not counted.
    expect(failure.details?.requests).toBeGreaterThanOrEqual(stub.requests.length - 2);
    letGo[0]?.();
    await rig.stopWorker();
    expect(existsSync(String(request.destination))).toBe(false);
  });
});

describe('a worker that serves two apps', () => {
  const rig = rigOfEachTest({ worker: false, app: 'slow' });
  let quick: StubService;

  beforeEach(async () => (quick = await startStubService()));
  afterEach(() => quick.close());

  it('converts for one app at once while unanswered submits of the other fill their slots and more are queued', async () => {
    rig.stub.on('convert/file', (_seen, response) => drip(response));
    const profile = { appId: stubAppId, token: stubToken };
    const plugin = new FileConversionPlugin({
      apps: { slow: { ...profile, baseUrl: rig.stub.url }, quick: { ...profile, baseUrl: quick.url } },
    });
    const connection = await NativeConnection.connect({ address: testTemporalAddress() });
    const { taskQueue, temporal } = rig;
    const worker = await inThisThread(() =>
      createConversionWorker({ connection, plugin, taskQueue, maxConcurrentActivities: 5, shutdownGraceMs: 100 }),
    );
    const running = worker.run();
    try {
      const source = await rig.source('report.md');
      const policies = { ...quickPolicies, submitTimeout: '2 minutes' } as const;
      for (let job = 0; job < 8; job += 1) await rig.client.start({ source, output: 'pdf', policies });
      await until('they hold all slots but one', () => rig.stub.count('convert/file') === 4);
      const client = new FileConversionClient({ client: temporal, taskQueue, app: 'quick' });
      const ofSlow = () => rig.stub.count('convert/file');
      expect(await client.convert({ source, output: 'pdf', policies }, { workflowId: randomUUID() })).toMatchObject({
        status: 'succeeded',
        requests: 3,
      });
      // No slow submit has ended meanwhile, or another one would have taken its slot.
      expect(ofSlow()).toBe(4);
    } finally {
      worker.shutdown();
      await running;
      await connection.close();
    }
  });
});

describe('with one slot', () => {
  const rig = rigOfEachTest({ slots: 1 });

  it('a step that no worker has taken by its deadline is attempted once a slot is free', async () => {
    const answers: (() => void)[] = [];
    rig.stub.on('upload/file', (seen, response) => void answers.push(() => rig.stub.answerAsAlways(seen, response)));
    const start = async (policies: ConversionPolicies = {}) =>
      rig.client.start(await rig.request({ destination: undefined, policies }));
    const first = await start();
    await until('it holds the only slot', () => answers.length === 1);
    const second = await start({ uploadDeadline: 4_000 });
    await until('the deadline of the other has passed', async () => {
      return (await rig.events(second.workflowId)).some((event) => event.activityTaskTimedOutEventAttributes);
    });
    answers[0]?.();
    await until('its upload is tried', () => answers.length === 2);
    answers[1]?.();
    await Promise.all([first.result(), second.result()]);
  });
});
