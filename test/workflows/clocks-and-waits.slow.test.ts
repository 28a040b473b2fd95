import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { ConversionFailedError, type ConversionHandle } from '../../src/client/conversion-handle';
import type { ConversionPolicies } from '../../src/job/types';
import { rigOfEachTest } from '../support/conversion-worker';
import { FailingCodec } from '../support/failing-codec';
import { answerCompleted, answerError, answerNotYet, answerOutput, answerRunning, cut } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';

/** Waits, deadlines and disagreeing clocks, on a real Temporal server. */

const RightDate = Date;
// Registered first, so that it runs before the rig closes.
afterEach(() => {
  globalThis.Date = RightDate;
  jest.restoreAllMocks();
});
const rig = rigOfEachTest();
let jobs = 0;

async function start(policies: ConversionPolicies): Promise<ConversionHandle> {
  jobs += 1;
  const destination = path.join(rig.folder, `${jobs}.pdf`);
  // Knowledge about vCredits is shared by all jobs with the same output, so each job gets its own.
  return rig.client.start(await rig.request({ output: `pdf-${jobs}`, destination, policies }));
}

function answerPage(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end('<html>a gateway</html>');
}

it.each(['upload/file', 'convert/file', 'task/response', 'download/url'])(
  'waits the full RETRY-AFTER of %s beyond the deadline of the step, and extends the deadline',
  async (endpoint) => {
    // Measured, so that a step meets its deadline on a busy machine too.
    const began = performance.now();
    await (await start({})).result();
    const seconds = Math.max(2, Math.ceil((performance.now() - began) / 250));
    const seenAt: number[] = [];
    rig.stub.on(endpoint, (seen, response) => {
      seenAt.push(seen.at);
      if (seenAt.length === 1) answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': String(seconds + 1) });
      else rig.stub.answerAsAlways(seen, response);
    });
    const deadline = `${seconds} seconds`;
    const job = await start({
      uploadDeadline: deadline,
      submitDeadline: deadline,
      submitTimeout: deadline,
      conversionDeadline: deadline,
      downloadDeadline: deadline,
    });
    expect(await job.result()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(seenAt).toHaveLength(2);
    expect((seenAt[1] ?? 0) - (seenAt[0] ?? 0)).toBeGreaterThanOrEqual((seconds + 1) * 1_000);
    expect(rig.stub.count('convert/file')).toBe(endpoint === 'convert/file' ? 3 : 2);
  },
);

it('fails a job that would have to wait beyond the credits deadline, and the message names the wait', async () => {
  rig.stub.fail('convert/file', 429, 'TOO_MANY_REQUESTS', { 'retry-after': '7200' });
  const job = await start({ submitDeadline: '1 hour', parkedDeadline: '1 hour' });
  const failure: unknown = await job.result().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ConversionFailedError);
  expect(failure).toMatchObject({ code: 'SUBMIT_DEADLINE', details: { charge: 'no' } });
  expect(String(failure)).toContain('orders a wait of 2 h');
});

describe('a parked job', () => {
  async function eventsOfPark(clockAheadMs: number): Promise<number> {
    rig.stub.fail('convert/file', 403, 'INSUFFICIENT_VCREDITS');
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + clockAheadMs);
    const job = await start({ parkedDeadline: '4 seconds', submitTimeout: '5 seconds' });
    await expect(job.result()).rejects.toMatchObject({ code: 'INSUFFICIENT_VCREDITS' });
    jest.restoreAllMocks();
    return (await rig.events(job.workflowId)).length;
  }

  it.each([4_000, 60_000])('waits the same time on a worker whose clock is %d ms ahead', async (ms) => {
    const inStep = await eventsOfPark(0);
    const askedInStep = rig.stub.count('convert/file');
    expect(await eventsOfPark(ms)).toBeLessThanOrEqual(inStep + 5);
    // The pauses have jitter.
    expect(Math.abs(rig.stub.count('convert/file') - 2 * askedInStep)).toBeLessThanOrEqual(1);
  });
});

describe('answers that do not come from the service', () => {
  it('never end a paid job, and end an upload only after five in a row', async () => {
    let [uploads, polls] = [0, 0];
    rig.stub.on('upload/file', (seen, response) => {
      uploads += 1;
      // Six failures, but never five pages in a row.
      if (uploads > 6) rig.stub.answerAsAlways(seen, response);
      else if (uploads % 3 === 0) cut(response);
      else answerPage(response);
    });
    rig.stub.on('task/response', ({ connector: id }, response) => {
      polls += 1;
      if (polls <= 6) answerRunning(response, id);
      else if (polls <= 14) answerPage(response);
      else answerCompleted(response, id);
    });
    const job = await start({});
    expect(await job.result()).toMatchObject({ status: 'succeeded' });
    expect(rig.stub.count('convert/file')).toBe(1);
  });

  it('fail an upload at the fifth in a row', async () => {
    rig.stub.on('upload/file', (_seen, response) => answerPage(response));
    await expect((await start({})).result()).rejects.toMatchObject({ code: 'UNREADABLE_RESPONSE' });
    expect(rig.stub.count('upload/file')).toBe(5);
  });

  it.each([
    ['brings fewer bytes than promised', 'PK r', 'the sender ended after 4 of the 9 bytes'],
    ['brings more bytes than promised', 'PK result!', 'the sender sent more than the 9 bytes'],
  ])('fail a download that %s at the fifth in a row', async (_title, body, told) => {
    rig.stub.on('download/url/get', (_seen, response) => void response.end(body));
    const job = await start({});
    const failure: unknown = await job.result().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'UNREADABLE_RESPONSE' });
    expect(String(failure)).toContain(told);
    expect(rig.stub.count('download/url/get')).toBe(5);
  });
});

it('checks once more just before the conversion deadline, instead of giving up one pause earlier', async () => {
  rig.stub.hold();
  const began = Date.now();
  const job = await start({ conversionDeadline: 12_000, firstCheckAfter: 6_000, maxCheckInterval: 60_000 });
  await expect(job.result()).rejects.toMatchObject({ code: 'CONVERSION_DEADLINE' });
  const polls = rig.stub.requests.filter((seen) => seen.path === 'task/response').map(({ at }) => at - began);
  // The next regular check would be after some 19 seconds.
  expect(polls.length).toBeGreaterThanOrEqual(2);
  expect(polls.at(-1)).toBeGreaterThan(6_400);
});

const clockAhead = (aheadMs: number): DateConstructor =>
  class extends RightDate {
    static override now(): number {
      return RightDate.now() + aheadMs;
    }

    constructor(value?: number | string) {
      super(value ?? RightDate.now() + aheadMs);
    }
  } as DateConstructor;

it.each([
  ['ahead', 3_600_000],
  ['behind', -3_600_000],
])('checks a conversion at the normal pace on a worker whose clock is an hour %s', async (_name, aheadMs) => {
  globalThis.Date = clockAhead(aheadMs);
  const startedMs = performance.now();
  rig.stub.on('task/response', (seen, response) => {
    const isEarly = performance.now() - startedMs < 6_000 || rig.stub.count('task/response') < 3;
    if (isEarly) answerNotYet(response, seen.connector);
    else rig.stub.answerAsAlways(seen, response);
  });
  const source = await rig.source('report.md');
  const result = await rig.client.convert({ source, output: 'pdf', policies: { firstCheckAfter: '200 ms' } });
  // After 0.2 s, at most 0.7 s, at least 1.5 s, and then every few seconds.
  expect(result.requests).toBeLessThanOrEqual(8);
});

it('a transfer that takes longer than the heartbeat timeout is given up neither by the server nor by the worker', async () => {
  rig.stub.on('download/url/get', (_seen, response, stub) => {
    response.writeHead(200, { 'content-length': stub.output.length });
    response.write(stub.output.subarray(0, 4));
    setTimeout(() => response.end(stub.output.subarray(4)), 18_000);
  });
  expect(await (await start({})).result()).toMatchObject({ status: 'succeeded', requests: 5 });
  expect(rig.stub.count('download/url/get')).toBe(1);
});

it('a download whose URL took the last request of a window waits for the next window, and requests no second URL', async () => {
  rig.stub.on('download/url', (seen, response) => {
    response.setHeader('x-ratelimit-limit', 2);
    response.setHeader('x-ratelimit-remaining', 0);
    response.setHeader('x-ratelimit-reset', 10);
    rig.stub.answerAsAlways(seen, response);
  });
  expect(await (await start({})).result()).toMatchObject({ status: 'succeeded', requests: 5 });
});

describe("a download that has delivered its file but can't report it", () => {
  const codec = new FailingCodec();
  const dataConverter = { payloadCodecs: [codec] };
  const own = rigOfEachTest({ temporal: { address: testTemporalAddress(), namespace: 'default', dataConverter } });

  it('recognises its file after a pause beyond its deadline', async () => {
    own.stub.first(
      'download/url',
      (response) => {
        codec.poison = '"sha256"';
        answerOutput(response, { connector: 'link', size: own.stub.output.length, url: '/v1/download/url/get' });
      },
      (response) => answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '6' }),
    );
    const policies = { downloadDeadline: '5 seconds' } as const;
    const result = await own.client.convert(await own.request({ destination: `${own.folder}/out/`, policies }));
    expect(result.status).toBe('succeeded');
    expect([own.stub.count('download/url'), own.stub.count('convert/file')]).toEqual([3, 1]);
  });
});
