import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { lookUpErrorCode, type ErrorClass } from '../../contract/error-codes';
import { type JobHistory, stepOfActivity, toMilliseconds } from '../../history/job-history';
import { failureCodes } from '../../shared/activities';
import type { BatchActivities } from '../../shared/batch-activities';
import { defined } from '../../shared/defined';
import { durationMs } from '../../shared/duration';
import { activityNames } from '../../shared/names';
import { defaultPolicies } from '../../shared/policies';

/** Why a job or a batch makes no progress. The values are part of `--json` and never change. */
export type WaitReason =
  /** No worker is alive, or none answers. */
  | 'worker'
  | 'paused'
  | 'credits'
  | 'rateLimit'
  | 'room'
  /** The workers that tried do not see the folder that the upload's worker saw. */
  | 'sharedFolder'
  /** The service is unreachable, or reports an internal error. */
  | 'service'
  /** The service rejects the account for now. */
  | 'account'
  | 'appProfile'
  /** Normal: the service is converting. */
  | 'conversion'
  | 'callback'
  /** All workers are busy, or a limit throttles them. */
  | 'slot'
  /** An attempt is in progress. */
  | 'attempt'
  /** A step has failed, and will be retried. */
  | 'retry'
  /** Workers take the workflow and fail at it, again and again. */
  | 'workflowTask';

export interface Waiting {
  reason: WaitReason;
  /** Completes "waits for". */
  waitsFor: string;
  /** The last failure's message, or what the current attempt waits for. */
  because?: string;
  /** Time of the next attempt, or of the deadline, in milliseconds since the epoch. */
  until?: number;
}

/** Codes with a specific reason; the others follow the class in the error table. */
const reasonOfCode: Readonly<Record<string, WaitReason>> = {
  [failureCodes.notFinished]: 'conversion',
  RATE_LIMIT_WAIT: 'rateLimit',
  SERVICE_UNREACHABLE: 'service',
  CONNECTION_LOST: 'service',
  REQUEST_TIMEOUT: 'service',
  REQUEST_ABORTED: 'service',
  UNREADABLE_RESPONSE: 'service',
  DESTINATION_FULL: 'room',
  DESTINATION_NOT_SHARED: 'sharedFolder',
  UNKNOWN_APP: 'appProfile',
};

/** What the service has not done yet, by current step. */
const unanswered: Readonly<Record<string, string>> = {
  uploading: 'The service has not answered yet.',
  submitting: 'The service has not answered yet.',
  converting: 'The service has not answered yet.',
  downloading: 'The service has not sent the whole result yet.',
};

export const pausedInTemporal: Waiting = { reason: 'paused', waitsFor: 'somebody who unpauses it in Temporal' };

/**
 * What a job or a batch waits for whose workflow task fails again and again; undefined when none does. Queries are not answered then,
 * which is not to be taken for a worker that is gone.
 */
export async function readFailingTask(
  client: Client,
  { workflowId, runId, raw }: Pick<WorkflowExecutionDescription, 'workflowId' | 'runId' | 'raw'>,
): Promise<Waiting | undefined> {
  const attempt = raw.pendingWorkflowTask?.attempt ?? 1;
  if (attempt < 2) return undefined;
  const { namespace } = client.options;
  const execution = { workflowId, runId };
  const request = { namespace, execution, maximumPageSize: lastEvents };
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse(request);
  for (const event of history?.events ?? []) {
    // Before that one completed, and after it workers may only have died.
    if (event.workflowTaskCompletedEventAttributes) return undefined;
    const failed = event.workflowTaskFailedEventAttributes;
    if (!failed) continue;
    const because = failed.failure?.message ?? undefined;
    const waitsFor = 'a worker that gets on with it: its workflow task fails again and again';
    return defined({ reason: 'workflowTask' as const, waitsFor, because });
  }
  return undefined;
}

/** A workflow task that fails again leaves no further events. */
const lastEvents = 20;

/** What a running job waits for, from everything that Temporal knows. */
export function waitingOf({
  history,
  description,
  pending,
  worker,
}: {
  history: Pick<JobHistory, 'lastStep' | 'input'>;
  description: Pick<WorkflowExecutionDescription, 'status' | 'taskQueue'>;
  pending: PendingStep | undefined;
  /** Absent: not checked. */
  worker: 'answers' | 'silent' | 'none' | undefined;
}): Waiting {
  const { app } = history.input;
  if (description.status.name === 'PAUSED' || pending?.isPaused === true) return pausedInTemporal;
  if (worker === 'none' || worker === 'silent') return withoutWorker(worker, description.taskQueue);
  if (!history.lastStep) return { reason: 'slot', waitsFor: 'a worker that takes it for the first time' };
  if (pending) return waitingOfStep(pending, app);
  const { activity, entry, failure, hasCallback } = history.lastStep;
  if (failure?.reaction === 'outcomeUnknown' && hasCallback) {
    const wait = history.input.policies?.unknownOutcomeWait ?? defaultPolicies.unknownOutcomeWait;
    return {
      reason: 'callback',
      waitsFor: 'the callback that tells whether the submit with an unknown outcome ran',
      ...(entry.endedAt !== undefined && { until: entry.endedAt + durationMs(wait) }),
    };
  }
  if (activity === activityNames.convertFile && entry.outcome === 'done') {
    return { reason: 'callback', waitsFor: "the service's callback, or the time to poll" };
  }
  return { reason: 'attempt', waitsFor: 'a worker that continues, or the pause before the next submit' };
}

export function withoutWorker(worker: 'silent' | 'none', taskQueue: string): Waiting {
  const why = worker === 'none' ? `none polls task queue ${taskQueue}` : `none answers on task queue ${taskQueue}`;
  return { reason: 'worker', waitsFor: `a worker: ${why}` };
}

/** What a job or a batch waits for while this activity of it is pending. */
export function waitingOfStep(pending: PendingStep, app: string): Waiting {
  const { step, underWay, nextAttemptAt, lastFailure, lastFailureType: code } = pending;
  // A timeout has no code.
  if (code === undefined && underWay) {
    const waitsFor = `the attempt under way (${step})`;
    return defined({ reason: 'attempt' as const, waitsFor, because: unanswered[step] });
  }
  if (code === undefined && lastFailure === undefined) {
    return { reason: 'slot', waitsFor: `a worker that is free (${step})` };
  }
  const { reason, waitsFor = `the next attempt (${step})` } =
    code === undefined ? { reason: 'retry' as const } : waitingOfCode(code, app);
  const isExpected = reason === 'conversion' || reason === 'credits' || reason === 'rateLimit';
  return defined({
    reason,
    waitsFor,
    because: isExpected ? undefined : lastFailure,
    until: nextAttemptAt,
  });
}

const reasonOfClass: Partial<Record<ErrorClass, WaitReason>> = {
  credits: 'credits',
  rate: 'rateLimit',
  account: 'account',
  server: 'service',
};

/** What is waited for after a failure with this code; without `waitsFor` it is only tried again. */
export function waitingOfCode(code: string, app: string): { reason: WaitReason; waitsFor?: string | undefined } {
  const { class: kind } = lookUpErrorCode(code) ?? {};
  const byStatus = /^HTTP_5\d\d$/.test(code) ? 'service' : 'retry';
  const reason = reasonOfCode[code] ?? (kind && reasonOfClass[kind]) ?? byStatus;
  return { reason, waitsFor: waitTexts[reason]?.(app) };
}

const waitTexts: Partial<Record<WaitReason, (app: string) => string>> = {
  credits: (app) => `vCredits of app ${app}`,
  rateLimit: (app) => `the rate limit of app ${app}`,
  service: (app) => `the conversion service of app ${app}`,
  account: (app) => `the account of app ${app} to be accepted`,
  appProfile: (app) => `a worker that knows the app profile ${app}`,
  room: () => 'room at the destination',
  sharedFolder: () => 'a worker on the host that uploaded the source',
  conversion: () => 'the service to finish the conversion',
};

/** The pending activity of a job. Times are milliseconds since the epoch. */
export interface PendingStep {
  /** `uploading`, `submitting`, `converting`, `downloading` or `cleaning up`; of a batch, for example `merging its results`. */
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

type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** The pending activity of a job; undefined when the job waits for a signal or a timer, or has ended. */
export function readPendingStep({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): PendingStep | undefined {
  const activity = raw.pendingActivities?.[0];
  return activity && pendingStep(activity);
}

/** The steps that a batch makes by itself. */
const stepOfBatchActivity: Readonly<Record<string, string>> = {
  'conversion.planBatch': 'looking for files',
  'conversion.readBatchItems': 'reading its manifest',
  'conversion.rereadBatchItems': 'reading its manifest',
  'conversion.writeBatchPart': 'writing its results',
  'conversion.mergeBatchResults': 'merging its results',
  'conversion.writeBatchReport': 'writing its report',
} satisfies Partial<Record<keyof BatchActivities, string>>;

/** The step of a batch, or of a sweep, that has failed and is tried again; undefined when none has. */
export function readFailedBatchStep({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): PendingStep | undefined {
  const failed = raw.pendingActivities?.find(
    ({ activityType, lastFailure }) => lastFailure && (activityType?.name ?? '') in stepOfBatchActivity,
  );
  return failed && pendingStep(failed);
}

function pendingStep(activity: PendingActivity): PendingStep {
  const name = activity.activityType?.name ?? '';
  const underWay = statesUnderWay.includes(activity.state);
  const nextAttemptAt = toMilliseconds(activity.nextAttemptScheduleTime ?? activity.scheduledTime);
  const failure = asTold(activity.lastFailure);
  const type = failure?.applicationFailureInfo?.type;
  return defined({
    step: stepOfActivity[name] ?? stepOfBatchActivity[name] ?? 'working',
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
function asTold(failure: PendingActivity['lastFailure']): NonNullable<PendingActivity['lastFailure']> | undefined {
  return (failure?.serverFailureInfo ? failure.cause : undefined) ?? failure ?? undefined;
}
