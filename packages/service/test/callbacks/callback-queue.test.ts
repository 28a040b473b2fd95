import { planRedelivery } from '../../src/callbacks/callback-queue';

const schedule = { maxAttempts: 10, firstRetryMs: 1_000, maxRetryMs: 60_000, maxAgeMs: 600_000 };
const failed = { attempts: 1, completedAt: 0, now: 0, retryAfterSeconds: undefined };

/** The shortest and the longest pause: random at 0 and at 1. */
const pauses = (attempts: number) =>
  [() => 0, () => 1].map((random) => planRedelivery({ ...failed, attempts }, schedule, random));

describe('the pause before the next attempt', () => {
  it('doubles up to its limit, with jitter between half and all of it', () => {
    expect(pauses(1)).toEqual([500, 1_000]);
    expect(pauses(2)).toEqual([1_000, 2_000]);
    expect(pauses(6)).toEqual([16_000, 32_000]);
    expect(pauses(7)).toEqual([30_000, 60_000]);
    expect(pauses(9)).toEqual([30_000, 60_000]);
  });

  it('is RETRY-AFTER if that is longer', () => {
    expect(planRedelivery({ ...failed, retryAfterSeconds: 9 }, schedule)).toBe(9_000);
    expect(planRedelivery({ ...failed, retryAfterSeconds: 0 }, schedule, () => 1)).toBe(1_000);
  });

  it('is undefined after the last attempt', () =>
    expect(planRedelivery({ ...failed, attempts: 10 }, schedule)).toBeUndefined());

  it('never ends after the deadline', () => {
    expect(planRedelivery({ ...failed, now: 599_000 }, schedule, () => 1)).toBe(600_000);
    expect(planRedelivery({ ...failed, now: 599_001 }, schedule, () => 1)).toBeUndefined();
    expect(planRedelivery({ ...failed, retryAfterSeconds: 601 }, schedule)).toBeUndefined();
  });
});
