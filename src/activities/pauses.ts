import path from 'node:path';
import type { RetryPolicy } from '@temporalio/common';
import { durationMs } from '../job/duration';

const unlearnedFirstCheckMs = 2_000;
const minDelayMs = 250;
/** With this factor, a conversion of 20 s takes three requests, one of a minute four. */
const growth = 2.3;
const nearMiss = 0.3;

/** Key for conversions of similar cost and duration: same app and same formats. */
export function kindOf(job: { app: string; input?: string; sourceName: string; output: string }): string {
  return [job.app, job.input ?? path.extname(job.sourceName).toLowerCase(), job.output].join(' ');
}

/** Delay of the first poll after the submit: as configured, as learned from similar conversions, or a guess. */
export function firstCheckDelayMs(options: {
  configuredMs: number | undefined;
  learnedMs: number | undefined;
  maxMs: number;
  random: () => number;
}): number {
  if (options.configuredMs !== undefined) return options.configuredMs;
  const { learnedMs = unlearnedFirstCheckMs } = options;
  return Math.round(Math.min(learnedMs * (1 + 0.1 * options.random()), options.maxMs));
}

/**
 * Delay before the next poll: proportional to the elapsed time, so that the number of requests grows with the logarithm of the
 * duration. Shorter just after the usual time for these formats. Jitter of up to a fifth spreads jobs that were submitted together; it
 * never shortens the delay, which would cost a request.
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
  const base = Math.max(factor * elapsedMs, minDelayMs);
  return Math.round(Math.min(base * (1 + 0.2 * random()), maxMs * (0.9 + 0.1 * random())));
}

export interface RetryPauses {
  initialMs: number;
  maximumMs: number;
}

/**
 * The backoff of an activity whose retry policy has a constant interval; undefined: the server backs off. The server would double the
 * pause after every attempt, also after attempts that did not fail ("not yet", a full queue), and a retry after a lost worker would
 * then wait for the longest pause as well as the heartbeat timeout.
 */
export function readRetryPauses(policy: RetryPolicy | undefined): RetryPauses | undefined {
  if (policy?.backoffCoefficient !== 1 || policy.initialInterval === undefined) return undefined;
  return { initialMs: durationMs(policy.initialInterval), maximumMs: durationMs(policy.maximumInterval ?? Infinity) };
}

/** The pause after attempt 1, 2, …; doubles each time. */
export function nextPauseMs({ initialMs, maximumMs }: RetryPauses, attempt: number): number {
  return Math.min(initialMs * 2 ** (attempt - 1), maximumMs);
}

/** Time reserved before a deadline for one more request. */
const lastAttemptMs = 2_000;

/** Shortens a pause that would end too close to the deadline, so that a last attempt is made just before it. */
export function withinDeadlineMs(pauseMs: number, leftMs = Infinity): number {
  const maxPauseMs = leftMs - Math.min(lastAttemptMs, leftMs / 4);
  // During the last attempt itself, there is no time for another.
  return pauseMs <= maxPauseMs || leftMs <= lastAttemptMs ? pauseMs : Math.round(maxPauseMs);
}

/** Caps the pauses for failures where another worker may succeed at once; without pauses, uses the caps. */
export function soonTaken({ initialMs, maximumMs }: RetryPauses = longest): RetryPauses {
  return { initialMs: Math.min(initialMs, longest.initialMs), maximumMs: Math.min(maximumMs, longest.maximumMs) };
}

const longest: RetryPauses = { initialMs: 500, maximumMs: 5_000 };

/** Times of a finished conversion, in milliseconds since its submit. */
interface ObservedTime {
  /** When the service last answered "not yet"; 0 if never. */
  notYetMs: number;
  /** When the service first answered "completed". */
  doneMs: number;
  /** As reported by the service, which excludes the time in its queue. */
  durationSeconds?: number | undefined;
}

const maxPairs = 1_000;
const samplesPerPair = 16;
/** Most conversions are done at the first check; slow ones need a second. */
const coveredShare = 0.75;
const margin = 1.1;
const marginMs = 50;

/** Recent conversion times of a worker by pair of formats, to time the first check. Evicts the least recently used pair. */
export class ConversionTimes {
  private readonly samples = new Map<string, number[]>();

  observe(pair: string, time: ObservedTime): void {
    const samples = this.samples.get(pair) ?? [];
    samples.push(estimate(time));
    if (samples.length > samplesPerPair) samples.shift();
    this.samples.delete(pair);
    this.samples.set(pair, samples);
    if (this.samples.size > maxPairs) this.samples.delete(this.samples.keys().next().value ?? '');
  }

  /** Milliseconds from submit to first check; undefined for a pair without samples. */
  firstCheckMs(pair: string): number | undefined {
    const samples = this.samples.get(pair);
    if (!samples) return undefined;
    const sorted = [...samples].sort((a, b) => a - b);
    // Rounded down: one of two samples may be the first conversion of a freshly started service.
    const covering = sorted[Math.floor(coveredShare * (sorted.length - 1))] ?? 0;
    return covering * margin + marginMs;
  }
}

/**
 * The end lies between the last "not yet" and "completed". The service's own figure, in whole seconds with unknown rounding, narrows
 * this down unless the conversion was queued. Without a figure, a late check makes the next first check a little earlier.
 */
function estimate({ notYetMs, doneMs, durationSeconds }: ObservedTime): number {
  if (notYetMs === 0 && durationSeconds) return Math.min(durationSeconds * 1_000, doneMs);
  if (notYetMs === 0 && durationSeconds === undefined) return doneMs * 0.8;
  const statedMs = durationSeconds === undefined ? NaN : durationSeconds * 1_000;
  const latestMs = statedMs + 1_000 > notYetMs ? Math.min(statedMs + 1_000, doneMs) : doneMs;
  const earliestMs = statedMs - 1_000 < latestMs ? Math.max(statedMs - 1_000, notYetMs) : notYetMs;
  return (earliestMs + latestMs) / 2;
}
