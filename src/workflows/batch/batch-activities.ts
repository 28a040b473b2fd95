import { ActivityCancellationType, ActivityFailure, proxyActivities } from '@temporalio/workflow';
import type { BatchActivities } from '../../batch/model/activities';

const common = {
  heartbeatTimeout: '10 seconds',
  // The activities set their own backoff (nextRetryDelay); after a lost worker the retry starts at once.
  retry: { initialInterval: '1 second', maximumInterval: '60 seconds', backoffCoefficient: 1 },
} as const;

/** Unlimited retries for problems that an operator can fix, such as a full disk: the UI shows the pending activity. */
export const fileSteps = proxyActivities<BatchActivities>({ ...common, startToCloseTimeout: '1 hour' });

/** No retry: the next page makes up for a failed one. */
export const pageSteps = proxyActivities<BatchActivities>({
  ...common,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  startToCloseTimeout: '10 minutes',
  retry: { maximumAttempts: 1 },
});

export const waitSteps = proxyActivities<BatchActivities>({
  ...common,
  startToCloseTimeout: '1 day',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
});

/** May take hours: it hashes changed files. */
export const planSteps = proxyActivities<BatchActivities>({
  ...common,
  scheduleToCloseTimeout: '1 day',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** Replaces an `ActivityFailure` by its cause, which says what is wrong. */
export function unwrap(error: unknown): unknown {
  return error instanceof ActivityFailure ? (error.cause ?? error) : error;
}
