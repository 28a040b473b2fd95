import { ActivityFailure, workflowInfo } from '@temporalio/workflow';
import { failureCodes } from '../../shared/activities';
import type { BatchItem, ConversionBatchInput } from '../../shared/batch';
import type { JobOutcome } from '../../shared/batch-activities';
import type { EarlierRuns } from '../../shared/charge';
import type { ConversionJobInput, SharedUpload } from '../../shared/job';
import { outcomeOfFailure } from '../../shared/job-outcome';

/** The job of an item. */
export function itemJobInput(
  { app, mode, policies: asked, onExisting, paysOnce }: ConversionBatchInput,
  row: BatchItem,
  { earlier, upload }: { earlier: EarlierRuns | undefined; upload: SharedUpload | undefined },
): ConversionJobInput {
  const { source, output, input, parameters, destination } = row;
  const existing = row.onExisting ?? onExisting;
  // Were the service to have lost the task, the job would submit again.
  const isFetched = paysOnce && earlier?.taskId !== undefined;
  const policies = isFetched ? { ...asked, onUnknownOutcome: 'fail' as const } : asked;
  return {
    app,
    source: { uri: source },
    output,
    ...(input !== undefined && { input }),
    ...(parameters && { parameters }),
    destination,
    ...(existing !== undefined && { onExisting: existing }),
    ...(mode && { mode }),
    describeSource: true,
    ...(upload && { upload }),
    ...(row.sourceGroup !== undefined && { tellsUpload: true }),
    ...(earlier && { earlier }),
    ...(policies && { policies }),
  };
}

/** The batch's own or, lower than single jobs, which have a user waiting: 4, where Temporal's default is 3. */
export function itemJobPriority(): { priorityKey: number } {
  const { priorityKey = 0 } = workflowInfo().priority ?? {};
  return { priorityKey: priorityKey > 0 ? priorityKey : 4 };
}

/** The job's start was confirmed, but the server no longer knows it. */
export const lostJob: JobOutcome = {
  status: 'failed',
  code: failureCodes.jobLost,
  message: 'Temporal no longer knows the job, so nothing tells whether its conversion ran.',
  charge: 'maybe',
};

/** Of an item whose row or job cannot be read. */
export function unreadable(error: unknown): JobOutcome {
  return outcomeOfFailure(error instanceof ActivityFailure ? error.cause : error);
}
