import { runWorkers } from './run-workers';

/** Use of a limit by one worker and by many that share it, in simulated time. */

describe.each([
  ['urgent', false],
  ['patient', true],
])('%s requests', (_kind, isPatient) => {
  it.each([
    [20, 2],
    [100, 10],
    [5, 2],
    [1, 1],
    [1000, 60],
  ])('of one worker use nearly all of %i in each window of %i s, without a 429', (limit, windowSeconds) => {
    const { utilisation, throttled } = runWorkers({ limit, windowSeconds, workers: 1, windows: 20, isPatient });
    expect(throttled).toBe(0);
    expect(utilisation).toBeGreaterThanOrEqual(0.95);
  });

  it.each([
    [20, 2],
    [100, 10],
    [40, 4],
  ])('of four workers that share a limit use nearly all of %i in %i s with hardly a 429', (limit, windowSeconds) => {
    const shared = { limit, windowSeconds, workers: 4, windows: 60, isPatient };
    for (const seed of [1, 2, 3]) {
      const { utilisation, throttledShare, sentBy } = runWorkers({ ...shared, seed });
      expect(throttledShare).toBeLessThan(0.01);
      expect(utilisation).toBeGreaterThan(0.9);
      // No worker starves.
      expect(Math.min(...sentBy)).toBeGreaterThan(limit);
    }
  });
});

it('one worker adapts to a service that rounds RESET down', () => {
  const rounded = { limit: 100, windowSeconds: 10, workers: 1, windows: 20, round: Math.floor };
  const { throttledShare, utilisation } = runWorkers(rounded);
  expect(throttledShare).toBeLessThan(0.01);
  expect(utilisation).toBeGreaterThan(0.85);
});

describe('a fleet that shares 100 requests a minute', () => {
  const fleet = { limit: 100, windowSeconds: 60, windows: 20 };

  it.each([
    [8, false, 1],
    [20, false, 1],
    [20, true, 1],
    [20, false, 2],
    [20, false, 3],
  ])('of %i workers (patient: %s) uses it with hardly a 429, from its first window on', (workers, isPatient, seed) => {
    const { utilisation, throttledShare, sentBy } = runWorkers({ ...fleet, workers, isPatient, seed, latencyMs: 40 });
    expect(throttledShare).toBeLessThanOrEqual(0.01);
    expect(utilisation).toBeGreaterThanOrEqual(0.95);
    // No worker starves.
    expect(Math.min(...sentBy)).toBeGreaterThan(fleet.windows);
  });

  it('of 50 workers, and of as many as there are requests in a window, adapts within a few windows', () => {
    expect(runWorkers({ ...fleet, workers: 50, ignoredWindows: 6 }).throttledShare).toBeLessThanOrEqual(0.02);
    const crowd = runWorkers({ ...fleet, workers: 100, windows: 30, ignoredWindows: 10 });
    expect(crowd.throttledShare).toBeLessThanOrEqual(0.03);
    expect(crowd.utilisation).toBeGreaterThanOrEqual(0.9);
  });

  it('soon uses all of it again after half of the workers are killed', () => {
    const killedAfter = { windows: 7.5, workers: 10 };
    const { utilisation, throttledShare } = runWorkers({ ...fleet, workers: 20, killedAfter });
    expect(throttledShare).toBeLessThanOrEqual(0.01);
    expect(utilisation).toBeGreaterThanOrEqual(0.95);
  });

  it.each([4, 20, 50])('of %i workers uses it again at once after an outage in which all are refused', (workers) => {
    const outage = { isPatient: true, away: { from: 5, windows: 30 }, windows: 45, ignoredWindows: 35 };
    const { utilisation, throttledShare } = runWorkers({ ...fleet, workers, ...outage });
    expect(throttledShare).toBeLessThanOrEqual(0.01);
    expect(utilisation).toBeGreaterThanOrEqual(0.8);
  });

  it('leaves a foreign client of the account its share, and uses the rest', () => {
    const { utilisation, throttledShare } = runWorkers({ ...fleet, workers: 20, foreignEveryMs: 2_000 });
    expect(throttledShare).toBeLessThanOrEqual(0.01);
    expect(utilisation).toBeGreaterThanOrEqual(0.95);
  });
});

it.each([3, 20, 60, 120])(
  'requests that take %i s, such as uploads, use nine tenths of 30 a minute',
  (takesSeconds) => {
    const uploads = {
      limit: 30,
      windowSeconds: 60,
      workers: 1,
      windows: 20,
      slots: 200,
      takesMs: takesSeconds * 1_000,
    };
    for (const writesHeadersLate of [false, true]) {
      for (const isPatient of [false, true]) {
        const { utilisation, throttled } = runWorkers({ ...uploads, writesHeadersLate, isPatient });
        expect(utilisation).toBeGreaterThanOrEqual(0.9);
        // The first window is unknown until a request is refused.
        expect(throttled).toBeLessThanOrEqual(5);
      }
    }
  },
);
