import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { lookUpErrorCode } from '../../contract/error-codes';
import { failureCodes } from '../../job/activities';
import type { BatchActivities } from '../../batch/model/activities';
import { defined } from '../../job/defined';
import type { JobPhase } from '../../job/types';
import { activityNames } from '../../job/names';
import { withMessages } from '../../history/payloads';
import { shellWord } from '../../messages/wording';
import { toMilliseconds } from '../../history/grpc';

/** Why a job or a batch makes no progress. The values are part of `--json` and never change. */
export type WaitReason =
  /** No worker is running, none is free, or none can run this step. */
  | 'worker'
  | 'paused'
  | 'credits'
  /** Someone must fix the account, or make room at the destination. */
  | 'person'
  | 'rateLimit'
  /** The service is unreachable, or reports an internal error. */
  | 'service'
  /** Normal: a step is in progress or comes next. */
  | 'conversion';

export interface NextStep {
  /** Begins a sentence that ends with the command. */
  why: string;
  command: string;
}

export interface Waiting {
  reason: WaitReason;
  /** Completes the sentence "waits for …". */
  waitsFor: string;
  /** The last failure's message, or what the current attempt waits for. */
  because?: string;
  /** Time of the next attempt, in milliseconds since the epoch. */
  until?: number;
  /** Absent if the user can only wait, or start a worker. */
  next?: NextStep;
}

/** What the service still owes, by current step. */
const unanswered: Readonly<Record<string, string>> = {
  uploading: 'The service has not answered yet.',
  submitting: 'The service has not answered yet.',
  converting: 'The service has not answered yet.',
  downloading: 'The service has not sent the whole result yet, or the worker still looks at it (`--check`).',
};

function pausedInTemporal(workflowId: string): Waiting {
  const command = `temporal workflow unpause --workflow-id ${shellWord(workflowId)}`;
  return { reason: 'paused', waitsFor: 'someone to unpause it in Temporal', next: { why: 'Continue', command } };
}

/**
 * For a job or batch whose workflow task fails again and again; otherwise undefined. It then answers no queries, which must not be
 * mistaken for a missing worker.
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
    // Failures before a completed task are over, and after it workers may only have died.
    if (event.workflowTaskCompletedEventAttributes) return undefined;
    const failed = event.workflowTaskFailedEventAttributes;
    if (!failed) continue;
    const failure = failed.failure && (await withMessages(client.options.loadedDataConverter, failed.failure));
    const because = failure?.message ?? undefined;
    const waitsFor = 'a worker that can run it: its workflow task keeps failing';
    const next = { why: 'Its events', command: `temporal workflow show --workflow-id ${shellWord(workflowId)}` };
    return defined({ reason: 'worker' as const, waitsFor, because, next });
  }
  return undefined;
}

/** Enough, since repeated failures of a workflow task add no events. */
const lastEvents = 20;

export interface WorkerAnswer {
  worker: 'answers' | 'silent' | 'none';
  phase?: JobPhase | undefined;
}

/** What a running job waits for, from its description and its worker's answer. */
export function waitingOf(
  description: Pick<WorkflowExecutionDescription, 'workflowId' | 'status' | 'taskQueue' | 'raw'>,
  { worker, phase }: WorkerAnswer,
  app: string,
): Waiting {
  const pending = readPendingStep(description);
  if (description.status.name === 'PAUSED' || pending?.isPaused === true)
    return pausedInTemporal(description.workflowId);
  if (worker !== 'answers') return withoutWorker(worker, description.taskQueue);
  if (pending) return waitingOfStep(pending, app);
  const waitsFor =
    phase === 'converting'
      ? "the service's callback, or the time to poll"
      : 'the callback that says whether its submit ran, or the time to submit again';
  return { reason: 'conversion', waitsFor };
}

/** What blocks the batch itself rather than its jobs: it is paused, no worker answers, or one of its own steps fails. */
export function waitingOfBatch(
  description: Pick<WorkflowExecutionDescription, 'workflowId' | 'status' | 'taskQueue' | 'raw'>,
  { worker }: Pick<WorkerAnswer, 'worker'>,
): Waiting | undefined {
  if (description.status.name === 'PAUSED') return pausedInTemporal(description.workflowId);
  if (worker !== 'answers') return withoutWorker(worker, description.taskQueue);
  const step = readFailedBatchStep(description);
  return step && waitingOfStep(step);
}

function withoutWorker(worker: 'silent' | 'none', taskQueue: string): Waiting {
  const why = worker === 'none' ? `none polls task queue ${taskQueue}` : `none answers on task queue ${taskQueue}`;
  return { reason: 'worker', waitsFor: `a worker: ${why}` };
}

function waitingOfStep(pending: PendingStep, app?: string): Waiting {
  const { step, underWay, nextAttemptAt: until, lastFailure, lastFailureType: code } = pending;
  const doctor = doctorOf(app);
  if (code !== undefined) {
    const waiting = waitingOfCode(code, app);
    const isExpected = ['conversion', 'credits', 'rateLimit'].includes(waiting?.reason ?? '');
    const retry = { reason: 'conversion' as const, waitsFor: `the next attempt (${step})` };
    return defined({ ...(waiting ?? retry), because: isExpected ? undefined : lastFailure, until });
  }
  // A failure without a code is a timeout.
  if (underWay) {
    const next = { why: 'Whether anything is broken', command: doctor };
    const waitsFor = `the attempt under way (${step})`;
    return defined({ reason: 'conversion' as const, waitsFor, because: unanswered[step], next });
  }
  if (lastFailure !== undefined) {
    return defined({
      reason: 'conversion' as const,
      waitsFor: `the next attempt (${step})`,
      because: lastFailure,
      until,
    });
  }
  const next = { why: 'Workers and their limit', command: 'fileconv doctor' };
  return { reason: 'worker', waitsFor: `a worker that is free (${step})`, next };
}

function doctorOf(app: string | undefined): string {
  return app === undefined ? 'fileconv doctor' : `fileconv doctor --app ${shellWord(app)}`;
}

/** What a failure with this code waits for; undefined if it is simply retried. */
export function waitingOfCode(code: string, app: string | undefined): Waiting | undefined {
  const ofApp = app === undefined ? '' : ` --app ${shellWord(app)}`;
  const named = app === undefined ? '' : ` of app ${app}`;
  const broken = { why: 'What is broken', command: doctorOf(app) };
  const service: Waiting = { reason: 'service', waitsFor: `the conversion service${named}`, next: broken };
  const ready = (why: string) => ({ why, command: `fileconv app ready${ofApp}` });
  switch (code) {
    case failureCodes.notFinished:
      return { reason: 'conversion', waitsFor: 'the service to finish the conversion' };
    case 'SERVICE_UNREACHABLE':
    case 'CONNECTION_LOST':
    case 'REQUEST_TIMEOUT':
    case 'REQUEST_ABORTED':
    case 'UNREADABLE_RESPONSE':
      return service;
    case 'DESTINATION_FULL':
      return { reason: 'person', waitsFor: 'room at the destination', next: ready('When there is some') };
    case 'DESTINATION_NOT_SHARED': {
      const next = { why: 'Workers and where they are', command: 'fileconv doctor' };
      return { reason: 'worker', waitsFor: 'a worker on the host that uploaded the source', next };
    }
    case 'UNKNOWN_APP':
      return { reason: 'worker', waitsFor: `a worker that knows the app profile ${app ?? ''}`, next: broken };
  }
  const kind = code === 'RATE_LIMIT_WAIT' ? 'rate' : lookUpErrorCode(code)?.class;
  switch (kind) {
    case 'credits':
      return { reason: 'credits', waitsFor: `vCredits${named}`, next: ready('When vCredits were added') };
    case 'rate':
      return { reason: 'rateLimit', waitsFor: `the rate limit${named}` };
    case 'account':
      return { reason: 'person', waitsFor: `the account${named} to be accepted`, next: ready('When that is fixed') };
    case 'server':
      return service;
    // Retried, or the end of the job.
    default:
      return /^HTTP_5\d\d$/.test(code) ? service : undefined;
  }
}

/** The pending activity of a job. Times are milliseconds since the epoch. */
export interface PendingStep {
  /** `uploading`, `submitting`, `converting`, `downloading` or `cleaning up`; for a batch, for example `looking for files`. */
  step: string;
  attempt: number;
  /** Whether an attempt is running; if not, the next one waits for its time or for a worker. */
  underWay: boolean;
  nextAttemptAt?: number;
  lastFailure?: string;
  lastFailureType?: string;
  lastWorker?: string;
  isPaused?: true;
}

/** Values of `PendingActivityState`: started, cancel requested, pause requested. */
const statesUnderWay: readonly unknown[] = [2, 3, 5];

type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** Undefined if the job waits for a signal or a timer, or has ended. */
export function readPendingStep({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): PendingStep | undefined {
  const activity = raw.pendingActivities?.[0];
  return activity && pendingStep(activity);
}

const stepOfActivity: Readonly<Record<string, string>> = {
  [activityNames.recallJob]: 'recalling',
  [activityNames.uploadFile]: 'uploading',
  [activityNames.convertFile]: 'submitting',
  [activityNames.checkTask]: 'converting',
  [activityNames.downloadFile]: 'downloading',
  [activityNames.discardDownload]: 'cleaning up',
};

/** Steps of the batch itself. */
const stepOfBatchActivity: Readonly<Record<string, string>> = {
  'conversion.planBatch': 'looking for files',
  'conversion.readBatchItems': 'reading its manifest',
  'conversion.rereadBatchItems': 'reading its manifest',
  'conversion.writeBatchPart': 'writing its results',
  'conversion.endRun': 'writing its results and report',
} satisfies Partial<Record<keyof BatchActivities, string>>;

/** The failing step of a batch or sweep that is being retried, if any. */
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
  const failure = unwrapped(activity.lastFailure);
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

/** Temporal wraps a truncated copy of an oversized failure in its own failure. */
function unwrapped(failure: PendingActivity['lastFailure']): NonNullable<PendingActivity['lastFailure']> | undefined {
  return (failure?.serverFailureInfo ? failure.cause : undefined) ?? failure ?? undefined;
}
