const smallestDelayMs = 250;

/**
 * How long to wait before the next poll: as long as the conversion has taken so far, so that the number of requests grows with the
 * logarithm of its duration, within ±10 % so that jobs submitted together don't poll together.
 */
export function nextCheckDelayMs(options: { elapsedMs: number; maxMs: number; random: () => number }): number {
  const base = Math.min(Math.max(options.elapsedMs, smallestDelayMs), options.maxMs);
  return Math.round(Math.min(base * (0.9 + 0.2 * options.random()), options.maxMs));
}

const firstCreditsCheckMs = 60_000;
const maxCreditsCheckMs = 3_600_000;

/**
 * How long a job that is parked for vCredits waits before it asks again by itself: as long as it has been parked, at most an hour, and
 * for the last time when its deadline is reached.
 */
export function nextCreditsCheckMs(options: { parkedMs: number; leftMs: number; random: () => number }): number {
  const base = Math.min(Math.max(options.parkedMs, firstCreditsCheckMs), maxCreditsCheckMs);
  return Math.round(Math.min(base * (0.9 + 0.2 * options.random()), options.leftMs));
}
