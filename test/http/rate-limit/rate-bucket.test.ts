import fc from 'fast-check';
import { RateBucket } from '../../../src/http/rate-limit/rate-bucket';
import { runWorkers } from './run-workers';

/** The schedule alone, in simulated time. */

const seconds = 1_000;

describe('one worker that always has work', () => {
  it.each([
    [20, 2],
    [100, 10],
    [5, 2],
    [1, 1],
    [1000, 60],
  ])('sends nearly all of %i requests in each window of %i s, and none too many', (limit, windowSeconds) => {
    const { utilisation, throttled } = runWorkers({ limit, windowSeconds, workers: 1, windows: 20 });
    expect(throttled).toBe(0);
    expect(utilisation).toBeGreaterThanOrEqual(0.95);
  });

  it('learns the slack of a service that rounds RESET down', () => {
    const { throttledShare, utilisation } = runWorkers({
      limit: 100,
      windowSeconds: 10,
      workers: 1,
      windows: 20,
      round: Math.floor,
    });
    expect(throttledShare).toBeLessThan(0.01);
    expect(utilisation).toBeGreaterThan(0.85);
  });
});

describe('four workers that share a limit', () => {
  it.each([
    [20, 2],
    [100, 10],
    [40, 4],
  ])('spend nearly all of %i requests in %i s with hardly a 429', (limit, windowSeconds) => {
    for (const seed of [1, 2, 3]) {
      const { utilisation, throttledShare, sentBy } = runWorkers({
        limit,
        windowSeconds,
        workers: 4,
        windows: 60,
        seed,
      });
      expect(throttledShare).toBeLessThan(0.01);
      expect(utilisation).toBeGreaterThan(0.9);
      // Nobody starves.
      expect(Math.min(...sentBy)).toBeGreaterThan(limit);
    }
  });
});

describe('a fleet that shares 100 requests a minute', () => {
  const fleet = { limit: 100, windowSeconds: 60, windows: 20 };

  it.each([
    [8, false, 1],
    [20, false, 1],
    [20, true, 1],
    [20, false, 2],
    [20, false, 3],
  ])(
    'of %i workers (patient: %s) spends it with hardly a 429, from its first window on',
    (workers, isPatient, seed) => {
      const { utilisation, throttledShare, sentBy } = runWorkers({ ...fleet, workers, isPatient, seed, latencyMs: 40 });
      expect(throttledShare).toBeLessThanOrEqual(0.01);
      expect(utilisation).toBeGreaterThanOrEqual(0.95);
      // Nobody starves.
      expect(Math.min(...sentBy)).toBeGreaterThan(fleet.windows);
    },
  );

  it('of 50 workers, and of as many as there are requests in a window, learns to within some windows', () => {
    expect(runWorkers({ ...fleet, workers: 50, ignoredWindows: 6 }).throttledShare).toBeLessThanOrEqual(0.02);
    const crowd = runWorkers({ ...fleet, workers: 100, windows: 30, ignoredWindows: 10 });
    expect(crowd.throttledShare).toBeLessThanOrEqual(0.03);
    expect(crowd.utilisation).toBeGreaterThanOrEqual(0.9);
  });

  it('loses nothing for long when half of it is killed, and the rest takes over', () => {
    const { utilisation, throttledShare } = runWorkers({
      ...fleet,
      workers: 20,
      killedAfter: { windows: 7.5, workers: 10 },
    });
    expect(throttledShare).toBeLessThanOrEqual(0.01);
    expect(utilisation).toBeGreaterThanOrEqual(0.95);
  });

  it.each([4, 20, 50])('of %i workers uses it again at once after an outage in which all are refused', (workers) => {
    const away = { from: 5, windows: 30 };
    const { utilisation, throttledShare } = runWorkers({
      ...fleet,
      workers,
      isPatient: true,
      away,
      windows: 45,
      ignoredWindows: 35,
    });
    expect(throttledShare).toBeLessThanOrEqual(0.01);
    expect(utilisation).toBeGreaterThanOrEqual(0.8);
  });

  it('leaves to a foreign client of the account what that takes, and uses the rest', () => {
    const { utilisation, throttledShare } = runWorkers({ ...fleet, workers: 20, foreignEveryMs: 2_000 });
    expect(throttledShare).toBeLessThanOrEqual(0.01);
    expect(utilisation).toBeGreaterThanOrEqual(0.95);
  });
});

describe('requests that take long, such as uploads', () => {
  const upload = { limit: 30, windowSeconds: 60, workers: 1, windows: 20, slots: 200 };

  it.each([
    [60, false],
    [60, true],
    [120, false],
    [120, true],
    [20, false],
    [20, true],
    [3, false],
    [3, true],
  ])('of %i s use nine tenths of 30 a minute (headers written at the end: %s)', (takesSeconds, writesHeadersLate) => {
    for (const isPatient of [false, true]) {
      const { utilisation, throttled } = runWorkers({
        ...upload,
        takesMs: takesSeconds * seconds,
        writesHeadersLate,
        isPatient,
      });
      expect(utilisation).toBeGreaterThanOrEqual(0.9);
      // The first window is unknown until a request is refused.
      expect(throttled).toBeLessThanOrEqual(5);
    }
  });

  it('keep others waiting for no more than a second, and the first of all answers tells the window', () => {
    const bucket = new RateBucket();
    const upload = bucket.sent(0);
    expect(bucket.decide(999)).toEqual({ kind: 'wait', untilMs: 1_000 });
    expect(bucket.decide(1_000)).toEqual({ kind: 'send' });
    const second = bucket.sent(1_000);
    expect(bucket.decide(1_001)).toEqual({ kind: 'wait', untilMs: 2_000 });
    bucket.answered(second, { throttled: false, limit: 2, remaining: 1, resetSeconds: 10 }, 1_050);
    // The upload may be counted or not.
    expect(bucket.decide(1_050)).toEqual({ kind: 'wait', untilMs: 11_050 });
    bucket.answered(upload, { throttled: false, limit: 2, remaining: 0, resetSeconds: 10 }, 5_000);
    expect(bucket.decide(5_000)).toEqual({ kind: 'wait', untilMs: 11_050 });
  });

  it('give their places in line back: whoever comes while nobody has answered yet expects to wait', () => {
    const bucket = new RateBucket();
    bucket.sent(0);
    expect(bucket.estimateWaitMs(5, 500)).toBeLessThanOrEqual(1_000);
    expect(bucket.estimateWaitMs(5, 1_500)).toBeGreaterThanOrEqual(5_000);
  });

  it('in a window that is known let the next one begin at its end, though none of them is answered', () => {
    const bucket = new RateBucket();
    bucket.answered(bucket.sent(0), { throttled: false, limit: 2, remaining: 1, resetSeconds: 10 }, 10);
    bucket.sent(20);
    expect(bucket.decide(30)).toEqual({ kind: 'wait', untilMs: 10_010 });
    expect(bucket.decide(10_010)).toEqual({ kind: 'send' });
  });

  it('are never sent at REMAINING 0 before RESET has passed, though windows have become longer', () => {
    const bucket = new RateBucket();
    bucket.answered(bucket.sent(0), { throttled: false, limit: 2, remaining: 1, resetSeconds: 5 }, 10);
    const scout = bucket.sent(5_010);
    expect(bucket.decide(6_010)).toEqual({ kind: 'send' });
    bucket.answered(scout, { throttled: false, limit: 2, remaining: 0, resetSeconds: 60 }, 6_100);
    expect(bucket.decide(6_100)).toEqual({ kind: 'wait', untilMs: 66_100 });
  });
});

describe('patient requests', () => {
  const told = (remaining: number, limit = 10) => ({ throttled: false, limit, remaining, resetSeconds: 2 });

  it.each([
    [20, 2],
    [100, 10],
    [5, 2],
  ])('alone use nearly all of %i requests in each window of %i s', (limit, windowSeconds) => {
    const { utilisation, throttled } = runWorkers({ limit, windowSeconds, workers: 1, windows: 20, isPatient: true });
    expect(throttled).toBe(0);
    expect(utilisation).toBeGreaterThanOrEqual(0.95);
  });

  it.each([
    [20, 2],
    [100, 10],
  ])('of four workers spend nearly all of %i requests in %i s with hardly a 429', (limit, windowSeconds) => {
    const { utilisation, throttledShare } = runWorkers({
      limit,
      windowSeconds,
      workers: 4,
      windows: 60,
      isPatient: true,
    });
    expect(throttledShare).toBeLessThan(0.01);
    expect(utilisation).toBeGreaterThan(0.9);
  });

  it('leave the last part of a window to an urgent one, which takes it at once, until the window is nearly over', () => {
    const bucket = new RateBucket();
    bucket.answered(bucket.sent(0, { isPatient: true }), told(9), 0);
    for (let left = 8; left > 1; left -= 1) {
      const nowMs = (9 - left) * 20;
      expect(bucket.decide(nowMs, { isPatient: true })).toEqual({ kind: 'send' });
      bucket.answered(bucket.sent(nowMs, { isPatient: true }), told(left), nowMs);
    }
    expect(bucket.decide(160, { isPatient: true })).toEqual({ kind: 'wait', untilMs: 1_800 });
    expect(bucket.decide(160)).toEqual({ kind: 'send' });
    expect(bucket.decide(1_800, { isPatient: true })).toEqual({ kind: 'send' });
    bucket.answered(bucket.sent(160), told(0), 170);
    expect(bucket.decide(1_800, { isPatient: true })).toEqual({ kind: 'wait', untilMs: 2_000 });
  });

  it('leave it also where other workers spend from the same allowance', () => {
    const bucket = new RateBucket({ random: () => 0 });
    bucket.answered(bucket.sent(0, { isPatient: true }), told(9), 0);
    // Somebody else has taken six.
    bucket.answered(bucket.sent(10, { isPatient: true }), told(2), 20);
    expect(bucket.decide(30, { isPatient: true })).toEqual({ kind: 'wait', untilMs: 2_000 });
    expect(bucket.decide(30)).toEqual({ kind: 'send' });
  });
});

describe('whatever the service answers', () => {
  const headers = fc.record({
    throttled: fc.boolean(),
    limit: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
    remaining: fc.option(fc.integer({ min: 0, max: 200 }), { nil: undefined }),
    resetSeconds: fc.option(fc.integer({ min: 0, max: 90 }), { nil: undefined }),
    retryAfterSeconds: fc.option(fc.integer({ min: 0, max: 90 }), { nil: undefined }),
  });
  const step = fc.oneof(
    fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 20_000 }) }),
    fc.record({ kind: fc.constant('send' as const), isPatient: fc.boolean() }),
    fc.record({ kind: fc.constant('answer' as const), which: fc.nat(20), headers }),
    fc.record({ kind: fc.constant('lose' as const), which: fc.nat(20) }),
  );

  it('it never sends before the end of a RETRY-AFTER, nor at REMAINING 0 before a RESET has passed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const bucket = new RateBucket({ random: () => 0.5 });
        let nowMs = 1_000;
        let blockedUntilMs = 0;
        let emptyUntilMs = 0;
        const underWay: ReturnType<RateBucket['sent']>[] = [];
        for (const each of steps) {
          if (each.kind === 'pass') nowMs += each.ms;
          if (each.kind === 'send' && bucket.decide(nowMs, each).kind === 'send') {
            expect(nowMs).toBeGreaterThanOrEqual(blockedUntilMs);
            expect(nowMs).toBeGreaterThanOrEqual(emptyUntilMs);
            underWay.push(bucket.sent(nowMs, each));
          }
          if (each.kind === 'answer' || each.kind === 'lose') {
            const [sent] = underWay.splice(each.which % Math.max(1, underWay.length), 1);
            if (!sent) continue;
            if (each.kind === 'lose') bucket.lost(sent);
            else {
              const { limit, remaining, resetSeconds, retryAfterSeconds, throttled } = each.headers;
              bucket.answered(
                sent,
                {
                  throttled,
                  ...(limit !== undefined && { limit }),
                  ...(remaining !== undefined && { remaining }),
                  ...(resetSeconds !== undefined && { resetSeconds }),
                  ...(throttled && retryAfterSeconds !== undefined && { retryAfterSeconds }),
                },
                nowMs,
              );
              if (throttled && retryAfterSeconds !== undefined)
                blockedUntilMs = Math.max(blockedUntilMs, nowMs + retryAfterSeconds * 1_000);
              // The first request of a window: its RESET is the only bound there is.
              if (
                !throttled &&
                sent.window === undefined &&
                remaining === 0 &&
                resetSeconds !== undefined &&
                underWay.length === 0
              )
                emptyUntilMs = nowMs + resetSeconds * 1_000;
            }
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('it always names a moment ahead, after which a request goes out', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, isPatient) => {
        const bucket = new RateBucket({ random: () => 0.5 });
        let nowMs = 1_000;
        const underWay: ReturnType<RateBucket['sent']>[] = [];
        for (const each of steps) {
          if (each.kind === 'pass') nowMs += each.ms;
          if (each.kind === 'send' && bucket.decide(nowMs, each).kind === 'send')
            underWay.push(bucket.sent(nowMs, each));
          if (each.kind === 'answer') {
            const [sent] = underWay.splice(each.which % Math.max(1, underWay.length), 1);
            if (sent) bucket.lost(sent);
          }
        }
        for (const sent of underWay) bucket.lost(sent);
        // Nothing is under way: within a few steps of time the next one goes.
        for (let tries = 0; tries < 5; tries += 1) {
          const decision = bucket.decide(nowMs, { isPatient });
          if (decision.kind === 'send') return;
          expect(decision.untilMs).toBeGreaterThan(nowMs);
          expect(decision.untilMs - nowMs).toBeLessThanOrEqual(92 * seconds);
          nowMs = decision.untilMs;
        }
        throw new Error('a waiter starves');
      }),
      { numRuns: 1_000 },
    );
  });
});

it('a request that is never answered is spent: the service may have counted it', () => {
  const bucket = new RateBucket();
  bucket.answered(bucket.sent(1_000), { throttled: false, limit: 11, remaining: 10, resetSeconds: 10 }, 1_000);
  let spent = 0;
  for (; spent < 20 && bucket.decide(2_000).kind === 'send'; spent += 1) bucket.lost(bucket.sent(2_000));
  expect(spent).toBeGreaterThan(0);
  expect(spent).toBeLessThanOrEqual(10);
});

describe('RETRY-AFTER', () => {
  it('is waited for in full even when RESET is shorter', () => {
    const bucket = new RateBucket();
    const sent = bucket.sent(0);
    bucket.answered(sent, { throttled: true, limit: 5, remaining: 0, resetSeconds: 2, retryAfterSeconds: 7 }, 100);
    expect(bucket.decide(7_099)).toEqual({ kind: 'wait', untilMs: 7_100 });
    expect(bucket.decide(7_100)).toEqual({ kind: 'send' });
  });

  it('that is missing is made up from RESET, or by growing waits', () => {
    const bucket = new RateBucket();
    bucket.answered(bucket.sent(0), { throttled: true, resetSeconds: 3 }, 0);
    expect(bucket.blockedUntilMs).toBe(3_000);
    const waits = [3_000, 4_000, 6_000].map((nowMs) => {
      bucket.answered(bucket.sent(nowMs), { throttled: true }, nowMs);
      return bucket.blockedUntilMs - nowMs;
    });
    expect(waits).toEqual([1_000, 2_000, 4_000]);
  });
});

it('a service without rate-limit headers is not held back', () => {
  const bucket = new RateBucket();
  bucket.answered(bucket.sent(0), { throttled: false }, 5);
  for (let sent = 0; sent < 100; sent += 1) {
    expect(bucket.decide(5)).toEqual({ kind: 'send' });
    bucket.sent(5);
  }
});

it('estimates the wait from the place in line', () => {
  const bucket = new RateBucket();
  bucket.answered(bucket.sent(0), { throttled: false, limit: 10, remaining: 9, resetSeconds: 2 }, 0);
  expect([0, 8, 9, 18, 19].map((ahead) => bucket.estimateWaitMs(ahead, 0))).toEqual([0, 0, 2_000, 2_000, 4_000]);
});

describe('where others spend too', () => {
  const told = (remaining: number) => ({ throttled: false, limit: 20, remaining, resetSeconds: 2 });

  it('estimates as if at least a third of the allowance were its own: others may run out of work', () => {
    const bucket = new RateBucket();
    bucket.answered(bucket.sent(0), told(0), 0);
    expect([0, 7, 14].map((ahead) => bucket.estimateWaitMs(ahead, 2_000))).toEqual([0, 2_000, 4_000]);
  });

  it("what was spent before the first look at all is nobody's: a worker that starts in a window does not slow down for itself", () => {
    const bucket = new RateBucket();
    const look = (remaining: number, nowMs: number) =>
      bucket.answered(bucket.sent(nowMs), { throttled: false, limit: 1_000, remaining, resetSeconds: 10 }, nowMs);
    look(900, 0);
    expect(bucket.isAlone).toBe(true);
    look(899, 10);
    expect(bucket.isAlone).toBe(true);
    // Between two answers it falls by more than was sent here.
    look(850, 20);
    expect(bucket.isAlone).toBe(false);
  });

  it('a worker that sees no more than the beginning of each window keeps its share', () => {
    const bucket = new RateBucket();
    for (let window = 0; window < 10; window += 1) {
      bucket.answered(bucket.sent(window * 2_000), told(18), window * 2_000);
    }
    // A third of 20 requests in each window.
    expect(bucket.estimateWaitMs(13, 20_000)).toBe(2_000);
  });
});
