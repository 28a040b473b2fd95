import { durationMs } from '../../src/job/duration';
import { firstCheckDelayMs, nextCheckDelayMs, nextPauseMs, readRetryPauses } from '../../src/activities/pauses';
import { defaultPolicies } from '../../src/job/policies';

const smallest = () => 0;
const middle = () => 0.5;
const largest = () => 1;
const maxMs = 60_000;

/** The times of the checks of a conversion that takes `doneMs`. */
function checksUntil(doneMs: number, { learnedMs, random }: { learnedMs?: number; random: () => number }): number[] {
  const checks = [firstCheckDelayMs({ configuredMs: undefined, learnedMs, maxMs, random })];
  for (let last = checks[0] ?? 0; last < doneMs; checks.push(last)) {
    last += nextCheckDelayMs({ elapsedMs: last, learnedMs, maxMs, random });
  }
  return checks;
}

describe('firstCheckDelayMs', () => {
  it("is the policy's value if there is one, to the millisecond", () => {
    expect(firstCheckDelayMs({ configuredMs: 0, learnedMs: 9_000, maxMs, random: largest })).toBe(0);
    expect(firstCheckDelayMs({ configuredMs: 100_000, learnedMs: 9_000, maxMs, random: largest })).toBe(100_000);
  });

  it('is the documented default as long as nothing was learned', () => {
    const first = firstCheckDelayMs({ configuredMs: undefined, learnedMs: undefined, maxMs, random: smallest });
    expect(first).toBe(durationMs(defaultPolicies.firstCheckAfter));
  });

  it('is the learned value, plus a tenth at most, and never more than the longest pause', () => {
    const learned = { configuredMs: undefined, learnedMs: 10_000, maxMs };
    expect(firstCheckDelayMs({ ...learned, random: smallest })).toBe(10_000);
    expect(firstCheckDelayMs({ ...learned, random: largest })).toBe(11_000);
    expect(firstCheckDelayMs({ ...learned, learnedMs: 600_000, random: largest })).toBe(maxMs);
  });
});

describe('nextCheckDelayMs', () => {
  it('never waits longer than the longest pause', () => {
    for (const random of [smallest, middle, largest]) {
      expect(nextCheckDelayMs({ elapsedMs: 10_000_000, maxMs, random })).toBeLessThanOrEqual(maxMs);
    }
  });

  it('always pauses, however fast the first answer was', () => {
    expect(nextCheckDelayMs({ elapsedMs: 0, maxMs, random: smallest })).toBeGreaterThanOrEqual(200);
    expect(nextCheckDelayMs({ elapsedMs: 0, learnedMs: 10, maxMs, random: smallest })).toBeGreaterThanOrEqual(200);
  });

  it('spreads jobs that were submitted together', () => {
    const delays = [smallest, largest].map((random) => nextCheckDelayMs({ elapsedMs: 10_000, maxMs, random }));
    expect(delays).toEqual([23_000, 27_600]);
  });

  it.each([
    ['20 s', 20_000, 3],
    ['a minute', 60_000, 4],
    ['ten minutes', 600_000, 15],
  ])('checks a conversion of %s of an unknown pair only a few times, whatever the jitter', (_name, doneMs, most) => {
    for (const random of [smallest, middle, largest]) {
      expect(checksUntil(doneMs, { random }).length).toBeLessThanOrEqual(most);
    }
  });

  it('checks again soon when a conversion has just missed its usual time, and then ever less often', () => {
    const checks = checksUntil(60_000, { learnedMs: 10_000, random: smallest });
    expect(checks[0]).toBe(10_000);
    expect(checks[1]).toBe(13_000);
    const pauses = checks.slice(1).map((check, index) => check - (checks[index] ?? 0));
    expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
    expect(checks.length).toBeLessThanOrEqual(5);
  });
});

describe('readRetryPauses', () => {
  it('reads the pauses of a policy without a backoff of its own', () => {
    const policy = { initialInterval: '1 second', maximumInterval: 60_000, backoffCoefficient: 1 } as const;
    expect(readRetryPauses(policy)).toEqual({ initialMs: 1_000, maximumMs: 60_000 });
  });

  it('leaves a policy with a backoff, and an unknown one, to the server', () => {
    expect(readRetryPauses({ initialInterval: 1_000, maximumInterval: 60_000, backoffCoefficient: 2 })).toBeUndefined();
    expect(readRetryPauses({ initialInterval: 1_000, maximumInterval: 60_000 })).toBeUndefined();
    expect(readRetryPauses(undefined)).toBeUndefined();
  });
});

it('a pause doubles with every attempt up to the longest', () => {
  const pauses = { initialMs: 1_000, maximumMs: 60_000 };
  expect([1, 2, 3, 6, 7, 5_000].map((attempt) => nextPauseMs(pauses, attempt))).toEqual([
    1_000, 2_000, 4_000, 32_000, 60_000, 60_000,
  ]);
});
