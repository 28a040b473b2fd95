import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { SweepActivities } from '../../shared/sweep';

const retry = { initialInterval: '1 second', maximumInterval: '60 seconds' } as const;

/** Hashes changed files and waits until files have settled. What a day can't fix is left to the next sweep. */
const planning = proxyActivities<SweepActivities>({
  heartbeatTimeout: '10 seconds',
  scheduleToCloseTimeout: '1 day',
  // The result is needed even after a cancellation, so that a run that was written can be removed.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry,
});

const tidying = proxyActivities<SweepActivities>({
  heartbeatTimeout: '10 seconds',
  startToCloseTimeout: '10 minutes',
  retry,
});

export const sweepActivities: SweepActivities = {
  'conversion.planBatch': (input) => planning['conversion.planBatch'](input),
  'conversion.discardBatchRun': (input) => tidying['conversion.discardBatchRun'](input),
};
