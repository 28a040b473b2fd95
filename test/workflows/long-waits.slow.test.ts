import type { ConversionHandle } from '../../src/client/conversion-handle';
import { answerCompleted, answerError, answerNotYet, answerRunning } from '../support/stub-service';
import { startSkippingRig, type SkippingRig } from '../support/time-skipping';

/** Waits of hours and days on the time-skipping server: activities really run, only the time between them is skipped. */

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let rig: SkippingRig;

beforeEach(async () => (rig = await startSkippingRig()));
afterEach(() => rig.close());

/** Simulates a service without vCredits for this many requests. Returns the number of refusals so far. */
function refuseUntil(refusals: number): () => number {
  let refused = 0;
  rig.stub.on('convert/file', (_seen, response) => {
    if (refused === refusals) {
      answerRunning(response, 'task');
    } else {
      refused += 1;
      answerError(response, 403, 'INSUFFICIENT_VCREDITS');
    }
  });
  return () => refused;
}

const eventsOf = async ({ workflowId }: ConversionHandle): Promise<number> =>
  (await rig.environment.client.workflow.getHandle(workflowId).fetchHistory()).events?.length ?? 0;

it('a job that polls 1,000 times over more than half a day has fewer than 100 events in its history', async () => {
  let polls = 0;
  rig.stub.on('task/response', ({ connector: id }, response) => {
    polls += 1;
    if (polls > 1_000) answerCompleted(response, id);
    else answerNotYet(response, id);
  });
  const handle = await rig.client.start({
    source: await rig.source('report.md'),
    output: 'pdf',
    // Otherwise the first waits happen inside the activity, where no time is skipped.
    policies: { firstCheckAfter: '10 seconds' },
  });
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'succeeded', requests: 1_003, possiblyChargedTwice: false });
  expect(polls).toBe(1_001);
  expect(result.phaseMs.converting).toBeGreaterThan(12 * hourMs);
  expect(await eventsOf(handle)).toBeLessThan(100);
});

it('a job continues from what the last one left even on a server without visibility lists', async () => {
  const source = await rig.source('report.md');
  const request = { source, output: 'pdf', destination: `${source}.pdf` };
  const first = await rig.client.convert(request);
  expect(await rig.client.convert(request)).toMatchObject({ recalled: true, taskId: first.taskId });
});

it('a job that is refused 500 times for vCredits has fewer than 100 events in its history, and converts once there are some', async () => {
  const refused = refuseUntil(500);
  const handle = await rig.client.start({
    source: await rig.source('report.md'),
    output: 'pdf',
    policies: { parkedDeadline: '60 days' },
  });
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'succeeded', taskId: 'task', possiblyChargedTwice: false });
  expect(refused()).toBe(500);
  // At most an hour between two probes, and not much less.
  expect(result.phaseMs.parked).toBeGreaterThan(18 * dayMs);
  expect(result.phaseMs.parked).toBeLessThan(24 * dayMs);
  expect(await eventsOf(handle)).toBeLessThan(100);
});

it('a job without vCredits for a week fails with a clear message, names the app, and has probed until the end', async () => {
  const refused = refuseUntil(Infinity);
  const handle = await rig.client.start({ source: await rig.source('report.md'), output: 'pdf' });
  await expect(handle.result()).rejects.toMatchObject({
    code: 'INSUFFICIENT_VCREDITS',
    message: expect.stringMatching(
      /^report\.md → pdf: App stub has too few vCredits, for longer than policy parkedDeadline allows \(7 d\)\. .*insufficient vcredits\. Add vCredits to the account of app stub\.$/,
    ) as string,
  });
  const { startTime, closeTime } = await rig.environment.client.workflow.getHandle(handle.workflowId).describe();
  const lastedMs = (closeTime?.getTime() ?? 0) - startTime.getTime();
  expect(lastedMs).toBeGreaterThanOrEqual(7 * dayMs);
  expect(lastedMs).toBeLessThan(7 * dayMs + hourMs);
  // Hourly, after more frequent probes at the start.
  expect(refused()).toBeGreaterThan(7 * 24 * 0.9);
  expect(refused()).toBeLessThan(7 * 24 * 1.2);
  expect(await eventsOf(handle)).toBeLessThan(100);
});

it('a job whose account is refused for an hour probes at most ten times, and converts once it is accepted again', async () => {
  const startedAt = await rig.environment.currentTimeMs();
  let inFirstHour = 0;
  rig.stub.refuse = () => {
    if (Date.now() > startedAt + hourMs) return undefined;
    inFirstHour += 1;
    return 'INVALID_CREDENTIAL';
  };
  const handle = await rig.client.start({
    source: await rig.source('report.md'),
    output: 'pdf',
    policies: { onRefusedAccount: 'park' },
  });
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
  expect(inFirstHour).toBeLessThanOrEqual(10);
  expect(result.phaseMs.parked).toBeLessThan(2 * hourMs);
  expect(await eventsOf(handle)).toBeLessThan(100);
});
