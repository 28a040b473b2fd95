import { RateBucket } from '../../../src/http/rate-limit/rate-bucket';

/** The schedule without timers, at given times. */

describe('slow requests, such as uploads', () => {
  it('delay others by a second at most, and the first of all answers describes the window', () => {
    const bucket = new RateBucket();
    const upload = bucket.sent(0);
    expect(bucket.decide(999)).toEqual({ kind: 'wait', untilMs: 1_000 });
    expect(bucket.decide(1_000)).toEqual({ kind: 'send' });
    const second = bucket.sent(1_000);
    expect(bucket.decide(1_001)).toEqual({ kind: 'wait', untilMs: 2_000 });
    bucket.answered(second, { throttled: false, limit: 2, remaining: 1, resetSeconds: 10 }, 1_050);
    // The upload may or may not have been counted.
    expect(bucket.decide(1_050)).toEqual({ kind: 'wait', untilMs: 11_050 });
    bucket.answered(upload, { throttled: false, limit: 2, remaining: 0, resetSeconds: 10 }, 5_000);
    expect(bucket.decide(5_000)).toEqual({ kind: 'wait', untilMs: 11_050 });
  });

  it('make newcomers expect a wait while none of them has been answered', () => {
    const bucket = new RateBucket();
    bucket.sent(0);
    expect(bucket.estimateWaitMs(5, 500)).toBeLessThanOrEqual(1_000);
    expect(bucket.estimateWaitMs(5, 1_500)).toBeGreaterThanOrEqual(5_000);
  });

  it('in a known window let the next window start on time, even if none of them is answered', () => {
    const bucket = new RateBucket();
    bucket.answered(bucket.sent(0), { throttled: false, limit: 2, remaining: 1, resetSeconds: 10 }, 10);
    bucket.sent(20);
    expect(bucket.decide(30)).toEqual({ kind: 'wait', untilMs: 10_010 });
    expect(bucket.decide(10_010)).toEqual({ kind: 'send' });
  });

  it('are never sent at REMAINING 0 before RESET has passed, even if windows have become longer', () => {
    const bucket = new RateBucket();
    bucket.answered(bucket.sent(0), { throttled: false, limit: 2, remaining: 1, resetSeconds: 5 }, 10);
    const probe = bucket.sent(5_010);
    expect(bucket.decide(6_010)).toEqual({ kind: 'send' });
    bucket.answered(probe, { throttled: false, limit: 2, remaining: 0, resetSeconds: 60 }, 6_100);
    expect(bucket.decide(6_100)).toEqual({ kind: 'wait', untilMs: 66_100 });
  });
});

describe('patient requests', () => {
  const told = (remaining: number, limit = 10) => ({ throttled: false, limit, remaining, resetSeconds: 2 });

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

  it('leave it even if other workers use the same allowance', () => {
    const bucket = new RateBucket({ random: () => 0 });
    bucket.answered(bucket.sent(0, { isPatient: true }), told(9), 0);
    // Other clients have used six.
    bucket.answered(bucket.sent(10, { isPatient: true }), told(2), 20);
    expect(bucket.decide(30, { isPatient: true })).toEqual({ kind: 'wait', untilMs: 2_000 });
    expect(bucket.decide(30)).toEqual({ kind: 'send' });
  });
});

it('a request without an answer counts as spent, since the service may have counted it', () => {
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

  it('defaults to RESET, or to growing waits, if it is missing', () => {
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

it('does not hold requests back if a service sends no rate-limit headers', () => {
  const bucket = new RateBucket();
  bucket.answered(bucket.sent(0), { throttled: false }, 5);
  for (let sent = 0; sent < 100; sent += 1) {
    expect(bucket.decide(5)).toEqual({ kind: 'send' });
    bucket.sent(5);
  }
});

it('estimates the wait from the position in the queue', () => {
  const bucket = new RateBucket();
  bucket.answered(bucket.sent(0), { throttled: false, limit: 10, remaining: 9, resetSeconds: 2 }, 0);
  expect([0, 8, 9, 18, 19].map((ahead) => bucket.estimateWaitMs(ahead, 0))).toEqual([0, 0, 2_000, 2_000, 4_000]);
});

describe('when others use the allowance too', () => {
  const told = (remaining: number) => ({ throttled: false, limit: 20, remaining, resetSeconds: 2 });

  it('assumes at least a third of the allowance for itself, since others may run out of work', () => {
    const bucket = new RateBucket();
    bucket.answered(bucket.sent(0), told(0), 0);
    expect([0, 7, 14].map((ahead) => bucket.estimateWaitMs(ahead, 2_000))).toEqual([0, 2_000, 4_000]);
  });

  it('ignores what was spent before the first answer, so that a worker that starts within a window does not slow itself down', () => {
    const bucket = new RateBucket();
    const look = (remaining: number, nowMs: number) =>
      bucket.answered(bucket.sent(nowMs), { throttled: false, limit: 1_000, remaining, resetSeconds: 10 }, nowMs);
    look(900, 0);
    expect(bucket.isAlone).toBe(true);
    look(899, 10);
    expect(bucket.isAlone).toBe(true);
    // Drops by more than was sent here.
    look(850, 20);
    expect(bucket.isAlone).toBe(false);
  });

  it('keeps its share even if it sees only the beginning of each window', () => {
    const bucket = new RateBucket();
    for (let window = 0; window < 10; window += 1) {
      bucket.answered(bucket.sent(window * 2_000), told(18), window * 2_000);
    }
    // A third of 20 requests in each window.
    expect(bucket.estimateWaitMs(13, 20_000)).toBe(2_000);
  });
});
