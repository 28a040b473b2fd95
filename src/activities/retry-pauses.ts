import { msToNumber } from '@temporalio/common/lib/time';
import type { RetryPolicy } from '@temporalio/common';

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
