import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { SweepActivities } from '../shared/sweep';

const retry = { initialInterval: '1 second', maximumInterval: '60 seconds' } as const;

/** Hashes what was touched, and waits until files have settled. What can't be put right in a day is left to the next sweep. */
const planning = proxyActivities<SweepActivities>({
  heartbeatTimeout: '10 seconds',
  scheduleToCloseTimeout: '1 day',
  // A run that was written down must be known of, so that it can be removed.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry,
});

const tidying = proxyActivities<SweepActivities>({
  heartbeatTimeout: '10 seconds',
  startToCloseTimeout: '10 minutes',
  retry,
});

/** The activities of a sweep, each with the time-outs and retries that fit it. */
export const sweepActivities: SweepActivities = {
  'conversion.planBatch': (input) => planning['conversion.planBatch'](input),
  'conversion.discardBatchRun': (input) => tidying['conversion.discardBatchRun'](input),
};
