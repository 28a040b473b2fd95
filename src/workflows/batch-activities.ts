import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { BatchActivities } from '../shared/batch-activities';

const common = {
  heartbeatTimeout: '10 seconds',
  // The activities let the pause between failures grow by themselves; a lost worker is replaced at once, however many attempts there were.
  retry: { initialInterval: '1 second', maximumInterval: '60 seconds', backoffCoefficient: 1 },
} as const;

/** Tries for ever what a person can put right, such as a full disk: the UI shows the pending activity and why. */
const files = proxyActivities<BatchActivities>({ ...common, startToCloseTimeout: '1 hour' });

/** Results don't wait for their report: what keeps it from being written has to end soon. */
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

/** The activities of a batch, each with the time-outs and retries that fit it. */
export const batchActivities: BatchActivities = {
  'conversion.readBatchItems': (input) => files['conversion.readBatchItems'](input),
  'conversion.rereadBatchItems': (input) => files['conversion.rereadBatchItems'](input),
  'conversion.writeBatchPart': (input) => files['conversion.writeBatchPart'](input),
  'conversion.mergeBatchResults': (input) => files['conversion.mergeBatchResults'](input),
  'conversion.writeBatchReport': (input) => report['conversion.writeBatchReport'](input),
  'conversion.awaitJobs': (input) => waits['conversion.awaitJobs'](input),
};
