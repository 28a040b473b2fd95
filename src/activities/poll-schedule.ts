const unlearnedFirstCheckMs = 2_000;
const smallestDelayMs = 250;
/** With it a conversion of 20 s costs three requests, and one of a minute four. */
const growth = 2.3;
const nearMiss = 0.3;

/** When a conversion is first asked after, after its submit: as told, or when those like it were done, or after a guess. */
export function firstCheckDelayMs(options: {
  toldMs: number | undefined;
  learnedMs: number | undefined;
  maxMs: number;
  random: () => number;
}): number {
  if (options.toldMs !== undefined) return options.toldMs;
  const { learnedMs = unlearnedFirstCheckMs } = options;
  return Math.round(Math.min(learnedMs * (1 + 0.1 * options.random()), options.maxMs));
}

/**
 * How long to wait before the next poll: in proportion to what the conversion has taken so far, so that the number of requests grows with the
 * logarithm of its duration. Shorter when it has just missed the time that is usual for its formats. Up to a fifth longer by chance, so that jobs
 * submitted together don't poll together; never shorter, which would cost a request.
 */
export function nextCheckDelayMs(options: {
  elapsedMs: number;
  learnedMs?: number | undefined;
  maxMs: number;
  random: () => number;
}): number {
  const { elapsedMs, learnedMs, maxMs, random } = options;
  const missed = learnedMs === undefined ? Infinity : elapsedMs / learnedMs;
  const factor = Math.min(nearMiss * Math.max(missed, 1) ** 2, growth);
  const base = Math.max(factor * elapsedMs, smallestDelayMs);
  return Math.round(Math.min(base * (1 + 0.2 * random()), maxMs * (0.9 + 0.1 * random())));
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
