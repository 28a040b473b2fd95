import type { WorkflowExecutionDescription } from '@temporalio/client';
import { stepOfActivity, toMilliseconds } from '../../history/job-history';
import { defined } from '../../shared/defined';

type Failure = NonNullable<
  NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number]['lastFailure']
>;

/** The pending activity of a job. Times are milliseconds since the epoch. */
export interface PendingStep {
  /** `uploading`, `submitting`, `converting`, `downloading` or `cleaning up`. */
  step: string;
  attempt: number;
  /** Whether an attempt is running; otherwise the next one waits for its time or for a worker. */
  underWay: boolean;
  /** Only between attempts. */
  nextAttemptAt?: number;
  lastFailure?: string;
  lastFailureType?: string;
  lastWorker?: string;
  isPaused?: true;
}

/** Values of `PendingActivityState`: started, cancel requested, pause requested. */
const statesUnderWay: readonly unknown[] = [2, 3, 5];

/** The pending activity of a job; undefined when the job waits for a signal or a timer, or has ended. */
export function readPendingStep({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): PendingStep | undefined {
  const activity = raw.pendingActivities?.[0];
  if (!activity) return undefined;
  const underWay = statesUnderWay.includes(activity.state);
  const nextAttemptAt = toMilliseconds(activity.nextAttemptScheduleTime ?? activity.scheduledTime);
  const failure = asTold(activity.lastFailure);
  const type = failure?.applicationFailureInfo?.type;
  return defined({
    step: stepOfActivity[activity.activityType?.name ?? ''] ?? 'working',
    attempt: activity.attempt ?? 1,
    underWay,
    nextAttemptAt: underWay ? undefined : nextAttemptAt,
    ...(failure?.message && { lastFailure: failure.message }),
    ...(type && { lastFailureType: type }),
    isPaused: activity.paused === true || undefined,
    ...(activity.lastWorkerIdentity && { lastWorker: activity.lastWorkerIdentity }),
  });
}

/** Temporal wraps a truncated copy of an oversized failure in a failure of its own. */
function asTold(failure: Failure | null | undefined): Failure | undefined {
  return (failure?.serverFailureInfo ? failure.cause : undefined) ?? failure ?? undefined;
}
