import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endpoints } from '../../../src/contract/endpoints';
import { RateGate, RateLimitWaitError } from '../../../src/http/rate-limit/rate-gate';
import { createRateMemory } from '../../../src/http/rate-limit/rate-memory';

/** The queue in front of the schedule, in real time. */

const endpoint = endpoints.convertFile;
const told = (remaining: number, resetSeconds: number) => ({ throttled: false, limit: 3, remaining, resetSeconds });

async function waitError(entering: Promise<unknown>): Promise<RateLimitWaitError> {
  const error: unknown = await entering.catch((reason: unknown) => reason);
  if (!(error instanceof RateLimitWaitError)) throw new Error('was not turned away', { cause: error });
  return error;
}

/** Records the order in which requests enter the gate. Each leaves it at once. */
function lineAt(gate: RateGate) {
  const entered: string[] = [];
  const enter = (name: string, options: Parameters<RateGate['enter']>[1] = {}) =>
    gate.enter(endpoint, options).then((permit) => {
      entered.push(name);
      permit.unsent();
    });
  return { entered, enter };
}

it('lets one request go first, and the others after its answer', async () => {
  const gate = new RateGate();
  const first = await gate.enter(endpoint);
  const entered: number[] = [];
  const others = [1, 2, 3].map((number) => gate.enter(endpoint).then(() => entered.push(number)));
  await sleep(20);
  expect(entered).toEqual([]);
  first.answered({ throttled: false });
  await Promise.all(others);
  expect(entered).toEqual([1, 2, 3]);
});

it('serves lower priority numbers first, and equal ones in order of arrival', async () => {
  const gate = new RateGate();
  const first = await gate.enter(endpoint);
  const { entered, enter } = lineAt(gate);
  const all = [enter('a'), enter('b', { priority: 5 }), enter('c'), enter('urgent', { priority: 1 })];
  first.unsent();
  await Promise.all(all);
  expect(entered).toEqual(['urgent', 'a', 'c', 'b']);
});

it("rejects at once a request that can't wait that long, and says when to come back", async () => {
  const gate = new RateGate({ now: () => 0 });
  (await gate.enter(endpoint)).answered({ ...told(0, 60), throttled: true, retryAfterSeconds: 7 });
  expect((await waitError(gate.enter(endpoint, { maxWaitMs: 5_000 }))).retryAfterMs).toBe(7_000);
});

describe('a rejected request', () => {
  /** A gate whose allowance of 1 in 10 s is used up, with a controllable clock. */
  async function usedUp() {
    const clock = { nowMs: 1_000_000 };
    const gate = new RateGate({ now: () => clock.nowMs });
    (await gate.enter(endpoint)).answered({ throttled: false, limit: 1, remaining: 0, resetSeconds: 10 });
    return { clock, ask: (since: number) => waitError(gate.enter(endpoint, { since, maxWaitMs: 5_000 })) };
  }

  it('comes back after half of a long wait, and 3 s before the end of a short one', async () => {
    const { clock, ask } = await usedUp();
    expect(await ask(1)).toMatchObject({ waitMs: 10_000, retryAfterMs: 5_000 });
    clock.nowMs += 5_000;
    expect(await ask(1)).toMatchObject({ waitMs: 5_000, retryAfterMs: 2_000 });
  });

  it('keeps its place ahead of later ones, which come back later', async () => {
    const { clock, ask } = await usedUp();
    const waits = [];
    for (const since of [1, 2, 3]) waits.push((await ask(since)).waitMs);
    expect(waits).toEqual([10_000, 20_000, 30_000]);
    clock.nowMs += 1_000;
    expect([(await ask(2)).waitMs, (await ask(4)).waitMs]).toEqual([19_000, 39_000]);
  });

  it('loses its place once it is overdue', async () => {
    const { clock, ask } = await usedUp();
    for (const since of [1, 2, 3]) await ask(since);
    clock.nowMs += 6_900;
    expect((await ask(4)).waitMs).toBe(33_100);
    clock.nowMs += 200;
    expect((await ask(4)).waitMs).toBe(22_900);
  });

  it('is served before later ones that are already queued', async () => {
    const gate = new RateGate();
    const first = await gate.enter(endpoint);
    const { entered, enter } = lineAt(gate);
    const all = [enter('later', { since: 2 }), enter('latest', { since: 3 }), enter('back again', { since: 1 })];
    first.unsent();
    await Promise.all(all);
    expect(entered).toEqual(['back again', 'later', 'latest']);
  });
});

it('sends nothing of a class that was blocked by a message, even after a restart', async () => {
  const memory = createRateMemory(path.join(await mkdtemp(path.join(os.tmpdir(), 'fileconv-rate-')), 'app.json'));
  const gate = new RateGate({ memory });
  gate.block(endpoint, 7_200);
  for (const each of [gate, new RateGate({ memory })]) {
    expect((await waitError(each.enter(endpoint, { maxWaitMs: 5_000 }))).retryAfterMs).toBeGreaterThan(7_190_000);
    await each.enter(endpoints.uploadFile, { maxWaitMs: 0 });
  }
});

it('rejects a request that has waited too long', async () => {
  const gate = new RateGate();
  await gate.enter(endpoint);
  await expect(gate.enter(endpoint, { maxWaitMs: 30 })).rejects.toBeInstanceOf(RateLimitWaitError);
});

it('leaves the queue with the reason of the signal, and the next request takes its place', async () => {
  const gate = new RateGate();
  const first = await gate.enter(endpoint);
  const stop = new AbortController();
  const leaving = gate.enter(endpoint, { signal: stop.signal });
  const staying = gate.enter(endpoint);
  const reason = new Error('cancelled');
  stop.abort(reason);
  await expect(leaving).rejects.toBe(reason);
  first.unsent();
  await staying;
});

describe('a wall clock that was a day ahead and is corrected', () => {
  const dayMs = 24 * 60 * 60_000;

  it('delays nothing beyond the current window', async () => {
    jest.useFakeTimers({ now: Date.now() + dayMs });
    try {
      const gate = new RateGate();
      (await gate.enter(endpoint)).answered(told(0, 10));
      jest.setSystemTime(Date.now() - dayMs);
      const entered = gate.enter(endpoint);
      await jest.advanceTimersByTimeAsync(11_000);
      await entered;
    } finally {
      jest.useRealTimers();
    }
  });

  it('queues later requests behind earlier ones', async () => {
    const clock = { wallMs: dayMs };
    const gate = new RateGate({ wallNow: () => clock.wallMs });
    const first = await gate.enter(endpoint);
    clock.wallMs = 1_000;
    const { entered, enter } = lineAt(gate);
    const early = enter('asked while it was ahead', { since: dayMs - 10 });
    clock.wallMs = 2_000;
    const all = [early, enter('asked afterwards', { since: 1_500 })];
    first.unsent();
    await Promise.all(all);
    expect(entered).toEqual(['asked while it was ahead', 'asked afterwards']);
  });
});

/** A different limit, so a separate window. */
const toldOfOthers = { throttled: false, limit: 5, remaining: 4, resetSeconds: 60 };

it('keeps a queue for each class of endpoints that has its own window', async () => {
  const gate = new RateGate();
  (await gate.enter(endpoint)).answered(told(2, 60));
  (await gate.enter(endpoints.taskResponse)).answered(toldOfOthers);
  (await gate.enter(endpoint)).answered({ ...told(0, 60), throttled: true, retryAfterSeconds: 60 });
  await gate.enter(endpoints.taskResponse, { maxWaitMs: 0 });
  await expect(gate.enter(endpoint, { maxWaitMs: 0 })).rejects.toBeInstanceOf(RateLimitWaitError);
});

it('holds all classes back after a 429 as long as they may share its window, and for at most a minute', async () => {
  const clock = { nowMs: 0 };
  const gate = new RateGate({ now: () => clock.nowMs });
  (await gate.enter(endpoint)).answered({ throttled: true, retryAfterSeconds: 7_200 });
  expect((await waitError(gate.enter(endpoints.taskResponse, { maxWaitMs: 0 }))).retryAfterMs).toBe(60_000);
  clock.nowMs = 60_000;
  await gate.enter(endpoints.taskResponse, { maxWaitMs: 0 });
});

it('a pause that only a message announces does not apply to other classes, even in the same window', async () => {
  const gate = new RateGate();
  (await gate.enter(endpoints.uploadFile)).answered({ ...toldOfOthers, remaining: 4 });
  (await gate.enter(endpoint)).answered({ ...toldOfOthers, remaining: 3 });
  gate.block(endpoint, 24 * 60 * 60);
  await gate.enter(endpoints.uploadFile, { maxWaitMs: 5_000 });
  await expect(gate.enter(endpoint, { maxWaitMs: 0 })).rejects.toBeInstanceOf(RateLimitWaitError);
});

describe('the memory of a RETRY-AFTER', () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(path.join(os.tmpdir(), 'fileconv-rate-'))));

  it('makes a restarted gate wait for the rest of it', async () => {
    const file = path.join(folder, 'state', 'app.json');
    const before = new RateGate({ memory: createRateMemory(file) });
    (await before.enter(endpoint)).answered(told(2, 60));
    (await before.enter(endpoints.uploadFile)).answered(toldOfOthers);
    (await before.enter(endpoint)).answered({ throttled: true, retryAfterSeconds: 60 });
    const after = new RateGate({ memory: createRateMemory(file) });
    await expect(after.enter(endpoint, { maxWaitMs: 1_000 })).rejects.toBeInstanceOf(RateLimitWaitError);
    await after.enter(endpoints.uploadFile, { maxWaitMs: 0 });
    expect(await readdir(path.dirname(file))).toEqual(['app.json']);
    const remembered = Object.keys(JSON.parse(await readFile(file, 'utf8')) as object);
    expect(remembered).toContain('submit');
    expect(remembered).not.toContain('upload');
  });

  it('causes no longer wait than the service asked for, even if the wall clock was a day ahead when it was written', async () => {
    const file = path.join(folder, 'app.json');
    const dayMs = 24 * 60 * 60_000;
    const ahead = createRateMemory(file, () => Date.now() + dayMs);
    (await new RateGate({ memory: ahead }).enter(endpoint)).answered({ throttled: true, retryAfterSeconds: 60 });
    const after = new RateGate({ memory: createRateMemory(file) });
    const { retryAfterMs } = await waitError(after.enter(endpoint, { maxWaitMs: 1_000 }));
    expect(retryAfterMs).toBeGreaterThan(59_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  it('causes no wait if it is over by the wall clock', async () => {
    const file = path.join(folder, 'app.json');
    const behind = createRateMemory(file, () => Date.now() - 61_000);
    (await new RateGate({ memory: behind }).enter(endpoint)).answered({ throttled: true, retryAfterSeconds: 60 });
    await new RateGate({ memory: createRateMemory(file) }).enter(endpoint, { maxWaitMs: 0 });
  });

  it.each(['', 'no json', '{"submit":"soon"}', '{"submit":1795000000000}', '[]'])(
    'is ignored if it contains %j',
    async (content) => {
      const file = path.join(folder, 'app.json');
      await writeFile(file, content);
      await new RateGate({ memory: createRateMemory(file) }).enter(endpoint, { maxWaitMs: 0 });
    },
  );
});
