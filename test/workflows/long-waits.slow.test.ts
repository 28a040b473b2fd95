import type { ConversionHandle } from '../../src/client/conversion-handle';
import { answerCompleted, answerError, answerNotYet, answerRunning } from '../support/stub-service';
import { startSkippingRig, type SkippingRig } from '../support/time-skipping';

/** Waits of hours and days, on the server that skips them: the activities are really tried, and only the time between is left out. */

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let rig: SkippingRig;

beforeEach(async () => (rig = await startSkippingRig()));
afterEach(() => rig.close());

/** A service without vCredits until it has refused so often; answers how often it has. */
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

it('a job that is told "not yet" 1,000 times over half a day and more has fewer than 100 events in its history', async () => {
  let polls = 0;
  rig.stub.on('task/response', ({ connector: id }, response) => {
    polls += 1;
    if (polls > 1_000) answerCompleted(response, id);
    else answerNotYet(response, id);
  });
  const handle = await rig.client.start({
    source: await rig.source('report.md'),
    output: 'pdf',
    // The first waits stay inside the activity otherwise, where nothing is skipped.
    policies: { firstCheckAfter: '10 seconds' },
  });
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'succeeded', requests: 1_003, possiblyChargedTwice: false });
  expect(polls).toBe(1_001);
  expect(result.phaseMs.converting).toBeGreaterThan(12 * hourMs);
  expect(await eventsOf(handle)).toBeLessThan(100);
});

it('a job takes up what the last one left also on a server without lists', async () => {
  const source = await rig.source('report.md');
  const request = { source, output: 'pdf', destination: `${source}.pdf` };
  const first = await rig.client.convert(request);
  expect(await rig.client.convert(request)).toMatchObject({ recalled: true, taskId: first.taskId });
});

it('a job that asks 500 times for vCredits has fewer than 100 events in its history, and converts when there are some', async () => {
  const refused = refuseUntil(500);
  const handle = await rig.client.start({
    source: await rig.source('report.md'),
    output: 'pdf',
    policies: { parkedDeadline: '60 days' },
  });
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'succeeded', taskId: 'task', possiblyChargedTwice: false });
  expect(refused()).toBe(500);
  // An hour between two questions at most, and not much less.
  expect(result.phaseMs.parked).toBeGreaterThan(18 * dayMs);
  expect(result.phaseMs.parked).toBeLessThan(24 * dayMs);
  expect(await eventsOf(handle)).toBeLessThan(100);
});

it('a job without vCredits for a week fails clearly, names the app, and has asked until the end', async () => {
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
  // Hourly, after a start that is quicker.
  expect(refused()).toBeGreaterThan(7 * 24 * 0.9);
  expect(refused()).toBeLessThan(7 * 24 * 1.2);
  expect(await eventsOf(handle)).toBeLessThan(100);
});

it('a job whose account is refused for an hour asks at most ten times, and converts when it is accepted again', async () => {
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
