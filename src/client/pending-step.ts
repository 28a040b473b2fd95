import type { WorkflowExecutionDescription } from '@temporalio/client';
import { stepOfActivity } from '../history/job-history';
import { toMilliseconds } from '../history/timestamp';

/** The activity that a job waits for. Times are milliseconds since the epoch. */
export interface PendingStep {
  /** `uploading`, `submitting`, `converting`, `downloading` or `cleaning up`. */
  step: string;
  attempt: number;
  /** Whether an attempt is under way now; else the next one waits for its time or for a worker. */
  underWay: boolean;
  /** Of the attempt that is not under way. */
  nextAttemptAt?: number;
  lastFailure?: string;
  lastFailureType?: string;
  lastWorker?: string;
  /** Somebody has paused it in Temporal. */
  isPaused?: true;
}

const started = 2;

/** Reads the pending activity of a job; undefined when there is none: the job waits for a signal or a timer, or has ended. */
export function readPendingStep({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): PendingStep | undefined {
  const activity = raw.pendingActivities?.[0];
  if (!activity) return undefined;
  const underWay = (activity.state as number | null | undefined) === started;
  const nextAttemptAt = toMilliseconds(activity.nextAttemptScheduleTime ?? activity.scheduledTime);
  const failure = activity.lastFailure;
  const type = failure?.applicationFailureInfo?.type;
  return {
    step: stepOfActivity[activity.activityType?.name ?? ''] ?? 'working',
    attempt: activity.attempt ?? 1,
    underWay,
    ...(!underWay && nextAttemptAt !== undefined && { nextAttemptAt }),
    ...(failure?.message && { lastFailure: failure.message }),
    ...(type && { lastFailureType: type }),
    ...(activity.paused === true && { isPaused: true as const }),
    ...(activity.lastWorkerIdentity && { lastWorker: activity.lastWorkerIdentity }),
  };
}
