import type { WorkflowExecutionDescription } from '@temporalio/client';
import { activityNames } from '../shared/names';

/** What a job's step is called, by the activity that it is. */
export const stepOfActivity: Readonly<Record<string, string>> = {
  [activityNames.uploadFile]: 'uploading',
  [activityNames.convertFile]: 'submitting',
  [activityNames.checkTask]: 'converting',
  [activityNames.downloadFile]: 'downloading',
  [activityNames.discardDownload]: 'cleaning up',
};

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
    ...(activity.lastWorkerIdentity && { lastWorker: activity.lastWorkerIdentity }),
  };
}

/** Of a protobuf timestamp. */
export function toMilliseconds(
  time: { seconds?: unknown; nanos?: number | null } | null | undefined,
): number | undefined {
  if (!time) return undefined;
  return Number(time.seconds ?? 0) * 1_000 + Math.floor((time.nanos ?? 0) / 1_000_000);
}
