import { msToNumber } from '@temporalio/common/lib/time';
import type { RetryPolicy } from '@temporalio/common';

const unlearnedFirstCheckMs = 2_000;
const smallestDelayMs = 250;
/** A conversion of 20 s then costs three requests, one of a minute four. */
const growth = 2.3;
const nearMiss = 0.3;

/** Delay of the first poll after the submit: as configured, as learned from similar conversions, or a guess. */
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
 * Delay before the next poll: proportional to the time elapsed, so that the number of requests grows with the logarithm
 * of the duration. Shorter just after the usual time for these formats. Jitter of up to a fifth keeps jobs submitted
 * together from polling together; it never shortens, which would cost a request.
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

/** Retry delay of a job parked for vCredits: its time parked so far, at most an hour, and never beyond its deadline. */
export function nextCreditsCheckMs(options: { parkedMs: number; leftMs: number; random: () => number }): number {
  const base = Math.min(Math.max(options.parkedMs, firstCreditsCheckMs), maxCreditsCheckMs);
  return Math.round(Math.min(base * (0.9 + 0.2 * options.random()), options.leftMs));
}

export interface RetryPauses {
  initialMs: number;
  maximumMs: number;
}

/**
 * The backoff of an activity with a constant interval in its retry policy; otherwise undefined: the server backs off.
 * The server would double the pause after every attempt, including those that are no failures ("not yet", a full
 * queue), and a retry after a lost worker would then wait for the longest pause as well as the heartbeat timeout.
 */
export function readRetryPauses(policy: RetryPolicy | undefined): RetryPauses | undefined {
  if (policy?.backoffCoefficient !== 1 || policy.initialInterval === undefined) return undefined;
  const initialMs = msToNumber(policy.initialInterval);
  const maximumMs =
    policy.maximumInterval === undefined ? Number.POSITIVE_INFINITY : msToNumber(policy.maximumInterval);
  return { initialMs, maximumMs };
}

/** The pause after this attempt, 1 for the first; doubles each time. */
export function nextPauseMs({ initialMs, maximumMs }: RetryPauses, attempt: number): number {
  return Math.min(initialMs * 2 ** (attempt - 1), maximumMs);
}

/** Caps the pauses for a failure where another worker may succeed at once; without pauses, uses the caps. */
export function soonTaken({ initialMs, maximumMs }: RetryPauses = longest): RetryPauses {
  return { initialMs: Math.min(initialMs, longest.initialMs), maximumMs: Math.min(maximumMs, longest.maximumMs) };
}

const longest: RetryPauses = { initialMs: 500, maximumMs: 5_000 };
