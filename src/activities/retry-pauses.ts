import { msToNumber } from '@temporalio/common/lib/time';
import type { RetryPolicy } from '@temporalio/common';

/** The pauses between attempts that failed by themselves. */
export interface RetryPauses {
  initialMs: number;
  maximumMs: number;
}

/**
 * The pauses that an activity asks for when its policy does not grow by itself; undefined when it does, and the server sees to them.
 *
 * The server would double the pause with every attempt, also with those that were no failures ("not yet", a turn that is far away). Whoever then loses
 * its worker would wait for the longest pause beside the heartbeat time-out, though nothing speaks against going on at once.
 */
export function readRetryPauses(policy: RetryPolicy | undefined): RetryPauses | undefined {
  if (policy?.backoffCoefficient !== 1 || policy.initialInterval === undefined) return undefined;
  const initialMs = msToNumber(policy.initialInterval);
  const maximumMs =
    policy.maximumInterval === undefined ? Number.POSITIVE_INFINITY : msToNumber(policy.maximumInterval);
  return { initialMs, maximumMs };
}

/** The pause after this attempt, 1 for the first: twice as long after each. */
export function nextPauseMs({ initialMs, maximumMs }: RetryPauses, attempt: number): number {
  return Math.min(initialMs * 2 ** (attempt - 1), maximumMs);
}

/** For what another worker may be able to do at once: the first pauses, whoever has none, and short ones. */
export function soonTaken({ initialMs, maximumMs }: RetryPauses = longest): RetryPauses {
  return { initialMs: Math.min(initialMs, longest.initialMs), maximumMs: Math.min(maximumMs, longest.maximumMs) };
}

const longest: RetryPauses = { initialMs: 500, maximumMs: 5_000 };
