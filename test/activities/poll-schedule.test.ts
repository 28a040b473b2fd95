import { nextCheckDelayMs } from '../../src/activities/poll-schedule';

const middle = () => 0.5;

describe('nextCheckDelayMs', () => {
  it('waits as long as the conversion has taken so far', () => {
    expect(nextCheckDelayMs({ elapsedMs: 8_000, maxMs: 60_000, random: middle })).toBe(8_000);
  });

  it('never waits longer than the longest pause', () => {
    for (const random of [() => 0, middle, () => 1]) {
      expect(nextCheckDelayMs({ elapsedMs: 10_000_000, maxMs: 60_000, random })).toBeLessThanOrEqual(60_000);
    }
  });

  it('does not ask without a pause, however fast the first answer was', () => {
    expect(nextCheckDelayMs({ elapsedMs: 0, maxMs: 60_000, random: () => 0 })).toBeGreaterThanOrEqual(200);
  });

  it('spreads jobs that were submitted together', () => {
    const delays = [() => 0, () => 1].map((random) => nextCheckDelayMs({ elapsedMs: 10_000, maxMs: 60_000, random }));
    expect(delays).toEqual([9_000, 11_000]);
  });

  it('asks at most seven times in the first two minutes', () => {
    let elapsedMs = 2_000;
    let checks = 1;
    while (elapsedMs < 120_000) {
      elapsedMs += nextCheckDelayMs({ elapsedMs, maxMs: 60_000, random: middle });
      checks += 1;
    }
    expect(checks).toBeLessThanOrEqual(7);
  });
});
