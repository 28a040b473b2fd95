import { nextPauseMs, readRetryPauses } from '../../src/activities/retry-pauses';

describe('readRetryPauses', () => {
  it('reads the pauses of a policy that does not grow by itself', () => {
    const policy = { initialInterval: '1 second', maximumInterval: 60_000, backoffCoefficient: 1 } as const;
    expect(readRetryPauses(policy)).toEqual({ initialMs: 1_000, maximumMs: 60_000 });
  });

  it('leaves a policy that grows, and one that is not known, to the server', () => {
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
