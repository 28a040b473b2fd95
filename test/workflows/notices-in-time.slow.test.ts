import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { sendNotice } from '../../src/notices/send-notice';
import { appAcceptedSignal, appRefusedSignal } from '../../src/job/names';
import type { AppNotice, Notice } from '../../src/batch/model/notices';
import { installQuietRuntime } from '../support/conversion-worker';
import { noticeSecret } from '../support/listener';
import { obtainTestServer } from '../support/test-server';

/** Notices that take minutes and hours, on a time-skipping server. */

const minute = 60_000;
const hour = 60 * minute;
const taskQueue = 'notices';
const parkedApp: AppNotice = {
  ...{ app: 'billing', reason: 'credits', code: 'INSUFFICIENT_VCREDITS', message: 'Too few vCredits.' },
  notifies: ['app.parked', 'app.resumed'],
};

let environment: TestWorkflowEnvironment;
let worker: Worker;
let running: Promise<void>;
/** The worker's `sendNotice` activity, as set by each test. */
let tell: (notice: Notice) => Promise<void>;

// One server per test: it hangs when a second workflow is signalled while time is skipped.
beforeEach(async () => {
  installQuietRuntime();
  environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: await obtainTestServer() } },
  });
  worker = await Worker.create({
    connection: environment.nativeConnection,
    taskQueue,
    workflowsPath: require.resolve('../../src/workflows'),
    activities: { 'conversion.sendNotice': (notice: Notice) => tell(notice) },
  });
  running = worker.run();
});
afterEach(async () => {
  worker.shutdown();
  await running;
  await environment.teardown();
});

it('a listener that answers 503 for ten minutes accepts each event once, with its own id', async () => {
  const asked: { id: unknown; status: number; at: number }[] = [];
  let now = 0;
  let opensAt = Infinity;
  const listener = createServer((request, response) => {
    const status = now < opensAt ? 503 : 204;
    asked.push({ id: request.headers['webhook-id'], status, at: now });
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`;
  const settings = { url, secret: noticeSecret, allowedHosts: ['127.0.0.1'] };
  tell = async (notice) => {
    now = await environment.currentTimeMs();
    if (opensAt === Infinity) opensAt = now + 10 * minute;
    return sendNotice(notice, settings, new AbortController().signal);
  };
  const data = { app: 'billing', batch: 'letters' };
  const ids = ['one', 'two', 'three'];
  for (const id of ids) {
    opensAt = Infinity;
    const args: [Notice] = [{ id, type: 'batch.ended', at: 0, data }];
    await environment.client.workflow.execute('conversionNotice', { workflowId: `notice/${id}`, taskQueue, args });
  }
  listener.close().closeAllConnections();
  expect(asked.filter(({ status }) => status === 204).map(({ id }) => id)).toEqual(ids);
  const refused = asked.filter(({ status }) => status === 503);
  // The pauses between the attempts grow.
  expect(refused.length).toBeLessThan(3 * 15);
  expect(refused.length).toBeGreaterThan(3 * 5);
});

describe('an app', () => {
  let told: Notice[];
  let ranMs: number;
  let apps = 0;

  /** Sends each of these signals after its wait. Returns the types of the notices. */
  async function sentFor(answers: readonly (readonly [waitMs: number, signal: string])[]): Promise<string[]> {
    told = [];
    tell = (notice) => Promise.resolve(void told.push(notice));
    const signal = appRefusedSignal;
    const start = { workflowId: `notice-${(apps += 1)}`, taskQueue, signal, args: [parkedApp] };
    const handle = await environment.client.workflow.signalWithStart('conversionAppNotice', start);
    for (const [waitMs, name] of answers) {
      await environment.sleep(waitMs);
      await handle.signal(name);
    }
    await handle.result();
    const { startTime, closeTime = startTime } = await handle.describe();
    ranMs = closeTime.getTime() - startTime.getTime();
    // The workflow that it started sends its notice after this workflow has ended.
    await environment.sleep(1_000);
    return told.map(({ type }) => type);
  }

  it('is reported as parked once, however many jobs are refused, and as resumed once', async () => {
    const refusals = Array.from({ length: 50 }, () => [minute, appRefusedSignal] as const);
    const accepted = [minute, appAcceptedSignal] as const;
    expect(await sentFor([...refusals, accepted, [1_000, appAcceptedSignal]])).toEqual(['app.parked', 'app.resumed']);
    const [parked, resumed] = told;
    const { message, ...app } = parkedApp;
    expect(parked?.data).toEqual({ app: app.app, reason: app.reason, code: app.code, message });
    expect(resumed?.data).toMatchObject({ app: app.app, reason: app.reason, code: app.code });
    expect((resumed?.data.parkedMs ?? 0) / minute).toBeCloseTo(51, 0);
    expect(parked?.id).not.toBe(resumed?.id);
  });

  it('is not reported as resumed if the next job is refused within a minute', async () => {
    const trickle = [
      [minute, appAcceptedSignal],
      [30_000, appRefusedSignal],
      [minute, appAcceptedSignal],
    ] as const;
    expect(await sentFor(trickle)).toEqual(['app.parked', 'app.resumed']);
    expect((told[1]?.data.parkedMs ?? 0) / minute).toBeCloseTo(2.5, 0);
  });

  it('is watched as long as a job is refused each hour, and not reported as resumed when nobody asks any more', async () => {
    expect(await sentFor([...Array.from({ length: 5 }, () => [hour, appRefusedSignal] as const)])).toEqual([
      'app.parked',
    ]);
    expect(ranMs / hour).toBeCloseTo(8, 1);
  });
});
