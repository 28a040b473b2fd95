import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { BatchActivities } from '../../batch/model/activities';

const common = {
  heartbeatTimeout: '10 seconds',
  // The activities back off by themselves (nextRetryDelay); after a lost worker the retry starts at once.
  retry: { initialInterval: '1 second', maximumInterval: '60 seconds', backoffCoefficient: 1 },
} as const;

/** Retries without limit what an operator can fix, such as a full disk: the UI shows the pending activity. */
export const fileSteps = proxyActivities<BatchActivities>({ ...common, startToCloseTimeout: '1 hour' });

/** The batch result must not wait long for its report, so the attempts are limited. */
export const reportSteps = proxyActivities<BatchActivities>({
  ...common,
  startToCloseTimeout: '1 hour',
  retry: { ...common.retry, maximumAttempts: 4 },
});

/** The next page makes up for one that could not be written. */
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

/** Hashes changed files. */
export const planSteps = proxyActivities<BatchActivities>({
  ...common,
  scheduleToCloseTimeout: '1 day',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});
