import fc from 'fast-check';
import { Durations } from '../../src/batch/report/durations';
import { formatDuration } from '../../src/shared/wording';

const someMs = fc.array(fc.integer({ min: 1, max: 7 * 86_400_000 }), { minLength: 1, maxLength: 200 });

it('tells quantiles to one percent, whatever the durations', () => {
  fc.assert(
    fc.property(someMs, fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
      const durations = new Durations();
      for (const ms of all) durations.add(ms);
      const sorted = [...all].sort((a, b) => a - b);
      const exact = sorted[Math.max(0, Math.ceil(share * all.length) - 1)] ?? 0;
      expect(Math.abs(durations.quantileMs(share) / exact - 1)).toBeLessThan(0.01);
    }),
  );
});

it('draws every job into exactly one bar, at most as many bars as wanted', () => {
  fc.assert(
    fc.property(someMs, fc.integer({ min: 1, max: 40 }), (all, maxBars) => {
      const durations = new Durations();
      for (const ms of all) durations.add(ms);
      const bars = durations.bars(maxBars);
      expect(bars.length).toBeLessThanOrEqual(maxBars);
      expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
      for (const [index, { fromMs }] of bars.slice(1).entries()) expect(fromMs).toBeCloseTo(bars[index]?.toMs ?? 0, 3);
    }),
  );
});

it('takes a clock that was set back for no time at all', () => {
  const durations = new Durations();
  durations.add(-5);
  durations.add(0);
  expect(durations.bars(10)).toEqual([expect.objectContaining({ count: 2 })]);
  expect(durations.quantileMs(0.5)).toBeLessThan(2);
});

it.each([
  [0, '0 s'],
  [853, '0.85 s'],
  [949, '0.95 s'],
  [2_000, '2 s'],
  [9_949, '9.9 s'],
  [59_499, '59 s'],
  [59_500, '1 min'],
  [200_000, '3 min 20 s'],
  [3_599_600, '1 h'],
  [11_546_000, '3 h 12 min'],
  [86_399_000, '1 d'],
  [187_200_000, '2 d 4 h'],
])('%d ms reads as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
