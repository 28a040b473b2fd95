/** How often and how long a callback is tried. */
export interface RetrySchedule {
  readonly maxAttempts: number;
  /** Before the second attempt; it doubles with each one after. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  /** From the completion of the task; no later attempt is planned. */
  readonly maxAgeMs: number;
}

export interface FailedAttempt {
  /** Attempts until now, this one included. */
  readonly attempts: number;
  readonly completedAt: number;
  readonly now: number;
  /** Waited for in full. */
  readonly retryAfterSeconds: number | undefined;
}

/** When to try again; undefined: not any more. Between half of the pause and all of it, so that what failed together spreads. */
export function planRetry(
  { attempts, completedAt, now, retryAfterSeconds = 0 }: FailedAttempt,
  { maxAttempts, firstRetryMs, maxRetryMs, maxAgeMs }: RetrySchedule,
  random: () => number = Math.random,
): number | undefined {
  if (attempts >= maxAttempts) return undefined;
  const pauseMs = Math.min(maxRetryMs, firstRetryMs * 2 ** (attempts - 1));
  const jitteredMs = Math.ceil(pauseMs * (0.5 + random() / 2));
  const next = now + Math.max(jitteredMs, retryAfterSeconds * 1000);
  return next <= completedAt + maxAgeMs ? next : undefined;
}
