import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { BatchActivities } from '../../shared/batch-activities';

const common = {
  heartbeatTimeout: '10 seconds',
  // The activities back off by themselves (nextRetryDelay); after a lost worker the retry starts at once.
  retry: { initialInterval: '1 second', maximumInterval: '60 seconds', backoffCoefficient: 1 },
} as const;

/** Retries without limit what an operator can fix, such as a full disk: the UI shows the pending activity. */
const files = proxyActivities<BatchActivities>({ ...common, startToCloseTimeout: '1 hour' });

/** The batch result must not wait long for its report, so the attempts are limited. */
const report = proxyActivities<BatchActivities>({
  ...common,
  startToCloseTimeout: '1 hour',
  retry: { ...common.retry, maximumAttempts: 4 },
});

const waits = proxyActivities<BatchActivities>({
  ...common,
  startToCloseTimeout: '1 day',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
});

/** Hashes changed files. */
const plans = proxyActivities<BatchActivities>({
  ...common,
  scheduleToCloseTimeout: '1 day',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

export const batchActivities: BatchActivities = {
  'conversion.planBatch': (input) => plans['conversion.planBatch'](input),
  'conversion.lookAtNames': (input) => files['conversion.lookAtNames'](input),
  'conversion.readBatchItems': (input) => files['conversion.readBatchItems'](input),
  'conversion.rereadBatchItems': (input) => files['conversion.rereadBatchItems'](input),
  'conversion.writeBatchPart': (input) => files['conversion.writeBatchPart'](input),
  'conversion.mergeBatchResults': (input) => files['conversion.mergeBatchResults'](input),
  'conversion.writeBatchReport': (input) => report['conversion.writeBatchReport'](input),
  'conversion.awaitJobs': (input) => waits['conversion.awaitJobs'](input),
};
