import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { ConversionApi, RequestTurn } from '../http/conversion-api';
import { lookUpErrorCode } from '../contract/error-codes';
import { ConversionApiError } from '../http/errors';
import type { NotifySettings } from '../notices/send-notice';
import { defined } from '../job/defined';
import { readLast, type LastFailure, type Parking } from '../job/activities';
import type { CallbackSubmission } from '../job/types';
import type { Stores } from '../storage/stores';
import { AcknowledgedHeartbeat } from './acknowledged-heartbeat';
import type { ResultChecks } from '../checks/result-checks';
import { signalListedJobs } from '../client/operations/signal-app';
import type { AppNotices } from './app-notices';
import type { AppSlots, WaitSlots } from './app-slots';
import { toFailure, endedByRateLimit, isUnreadable, parkReasonOf, saysMissing, withAdvice } from './failure';
import { isPaid, type FailureContext, type MissingAnswers } from './failure-context';
import { readRetryPauses, type ConversionTimes } from './pauses';
import { KnownRefusalError, type Probe, type RefusalWatch } from './refusal-watch';
import type { WorkerMetrics } from './worker-metrics';

/** Dependencies of the activities, injected by the worker or a test. */
export interface ActivityDependencies {
  /**
   * The API client of an app profile. It holds the token, which never enters a workflow.
   * @throws UnknownAppError if the worker has no such profile.
   */
  api: (app: string) => ConversionApi;
  files: Stores;
  checks: ResultChecks;
  /** Default: no metrics. */
  metrics?: WorkerMetrics | undefined;
  /** Default: any app may use all slots. */
  slots?: AppSlots | undefined;
  refusals: RefusalWatch;
  times: ConversionTimes;
  /** Like `refusals` and `times`, shared by all activities of a worker. */
  waits: WaitSlots;
  /** Callback URL for a submit of this app; undefined: no callback, the job polls. */
  callbackUrl?: ((app: string, submission: CallbackSubmission) => string | undefined) | undefined;
  /** Waits up to `ms` for the callback of a submit. Undefined: another process receives callbacks. */
  callbackComes?: ((submission: CallbackSubmission, ms: number, signal: AbortSignal) => Promise<boolean>) | undefined;
  /** Default: no notices. */
  notify?: NotifySettings | undefined;
  /** Shared by all activities of a worker. Default: no notices about apps. */
  appNotices?: AppNotices | undefined;
}

/** Counts of earlier attempts, kept in the details of every heartbeat. */
interface EarlierAttempts {
  /** Rejected with 429; not counted as attempts. */
  throttled?: number;
  /** Ended before a request by the rate limit, reserved slots or a known refusal; not counted either. */
  unsent?: number;
  /** Latest consecutive attempts with an unreadable response. */
  unreadable?: number;
  /** Latest consecutive responses that the task or its result is missing. */
  missing?: MissingAnswers;
}

/**
 * A longer wait returns the slot, so that requests queued for one endpoint class leave slots to the others. A submit sends no heartbeat
 * before its fence, so it must also reach the fence within the heartbeat timeout.
 */
const maxWaitMs = 7_000;
/** RETRY-AFTER from which a wait is logged as a warning. */
const longWaitSeconds = 10;

type Step = Pick<FailureContext, 'step' | 'app'> & { parking?: Parking };

/** One attempt of an activity: its heartbeat, its request count and the context of its failures. */
export type ActivityAttempt = ReturnType<typeof begin>;

function begin({ step, app, parking }: Step) {
  const context = Context.current();
  const { info } = context;
  const previousDetails = (info.heartbeatDetails ?? {}) as EarlierAttempts;
  const { throttled = 0, unsent = 0, unreadable = 0, missing } = previousDetails;
  const heartbeat = new AcknowledgedHeartbeat(
    context,
    defined({
      throttled: throttled || undefined,
      unsent: unsent || undefined,
      unreadable: unreadable || undefined,
      missing,
    }),
  );
  const startedAtMs = performance.now();
  const ageMs = () => performance.now() - startedAtMs;
  const { signal } = heartbeat;
  // The workflow's deadlines use the server's clock; this machine's may be minutes off.
  const serverNow = () => info.currentAttemptScheduledTimestampMs + ageMs();
  const failure: FailureContext = {
    step,
    app,
    parking,
    attempt: info.attempt - throttled - unsent,
    refusals: throttled + 1,
    pauses: readRetryPauses(info.retryPolicy),
    requests: info.attempt - unsent - 1,
    unreadableInARow: unreadable + 1,
    serverNow,
    leftMs: () => info.scheduledTimestampMs + info.scheduleToCloseTimeoutMs - serverNow(),
  };
  const turn: RequestTurn = {
    signal,
    priority: info.priority?.priorityKey,
    since: info.scheduledTimestampMs,
    maxWaitMs: Math.min(maxWaitMs, info.startToCloseTimeoutMs / 2),
    answerByMs: startedAtMs + answerTimeoutMs(info.startToCloseTimeoutMs),
  };
  const { parked } = parking ?? {};
  return {
    context,
    /** A parked job always makes its last attempt, whatever other jobs have learned. */
    isLast: parked !== undefined && serverNow() >= parked.until,
    /** Delay of a job's first probe after it was refused. */
    firstProbeMs: failure.pauses?.maximumMs ?? 60_000,
    earlier: { throttled, unsent, unreadable, missing },
    number: info.attempt,
    /** Attempts that sent a request, including this one. */
    requests: info.attempt - unsent,
    heartbeat,
    /** Details of the last heartbeat of an earlier attempt, unvalidated. */
    previousDetails: previousDetails as unknown,
    /** Aborts on cancellation, when the server drops the attempt, and at shutdown. */
    signal,
    ageMs,
    /** How this attempt's requests queue for the rate limit. */
    turn,
    /** `turn` for a step of several requests: counts them over all attempts, in `failure.requests`. */
    countRequests(): RequestTurn {
      failure.requests = readLast(previousDetails).requests ?? 0;
      const beforeSend = () => {
        failure.requests += 1;
        heartbeat.add({ requests: failure.requests });
        return Promise.resolve();
      };
      return { ...turn, beforeSend };
    },
    /** Key of a job's temporary files: the same in every attempt, activity and run of the job. */
    jobKey: info.workflowExecution?.workflowId ?? info.activityId,
    run: info.workflowExecution,
    /** The run of this attempt, if a reset has made it from the one that the job knows. */
    resetSince(knownRunId: string | undefined): string | undefined {
      const { runId } = info.workflowExecution ?? {};
      return knownRunId === undefined || runId === knownRunId ? undefined : runId;
    },
    /** Context of this attempt's failures; the activity keeps `requests` and `taskId` up to date. */
    failure,
  };
}

/** `parking`: only for a step whose refusals can park its job. */
export async function runAttempt<T>(
  { metrics, slots, refusals, appNotices }: Pick<ActivityDependencies, 'metrics' | 'slots' | 'refusals' | 'appNotices'>,
  { step, app, parking }: Step,
  work: (attempt: ActivityAttempt) => Promise<T>,
): Promise<T> {
  const attempt = begin(defined({ step, app, parking }));
  const { context, earlier, heartbeat, failure } = attempt;
  let account: Probe | undefined;
  // A submit starts its regular beat only after its fence: an earlier beat could arrive late and overwrite it.
  if (step !== 'submit') heartbeat.start();
  try {
    // Keeps what earlier attempts recorded, even if this one gets no slot.
    heartbeat.update(attempt.previousDetails as object);
    slots?.check(context.info.taskQueue, app);
    account = parking && askForAccount(refusals, attempt);
    const result = await work(attempt);
    if (account?.accepted()) void wakeParked(context, app);
    if (parking?.parked) {
      // A submit needs the account and vCredits, whichever of them its job waited for last.
      await appNotices?.accepted(app, step === 'submit' ? ['account', 'credits'] : [parking.parked.reason]);
    }
    return result;
  } catch (error) {
    const limitedBy = endedByRateLimit(error);
    if (limitedBy) await heartbeat.recordLast({ [limitedBy]: earlier[limitedBy] + 1 });
    else {
      const unreadable = isUnreadable(error) ? earlier.unreadable + 1 : 0;
      if (unreadable !== earlier.unreadable) heartbeat.add({ unreadable });
      if (saysMissing(error)) {
        const { answers = 0, since = failure.serverNow?.() ?? Date.now() } = earlier.missing ?? {};
        failure.missing = { answers: answers + 1, since };
      }
      if (failure.missing !== earlier.missing) heartbeat.add({ missing: failure.missing });
      const last = reasonOf(error);
      if (last !== undefined) heartbeat.add({ last } satisfies LastFailure);
      heartbeat.sendBeforeFailure();
    }
    if (limitedBy === 'throttled') logThrottled(context, error);
    // Not earlier: a submit that the service refused must have lowered its fence first.
    if (error instanceof ConversionApiError) failure.mayHaveOtherToken = await error.mayHaveOtherToken?.();
    if (account) shareRefusal(account, error, failure);
    const reason = error instanceof ConversionApiError ? parkReasonOf(error, failure) : undefined;
    const reported = toFailure(error, failure);
    metrics?.attemptFailed({ step, app }, { error, reported });
    if (reason && reported instanceof ApplicationFailure) {
      const { type, message } = reported;
      await appNotices?.refused({ app, reason, code: type ?? '', message });
    }
    throw reported;
  } finally {
    account?.ended();
    heartbeat.stop();
  }
}

/** @throws KnownRefusalError if it is too early for a request. */
function askForAccount(refusals: RefusalWatch, { failure, number, firstProbeMs, isLast }: ActivityAttempt): Probe {
  const { app, parking: { parked, readyAt } = {} } = failure;
  if (parked && parked.reason !== 'room' && !parked.asksAtOnce && number === 1 && !isLast) {
    throw new KnownRefusalError(parked, firstProbeMs);
  }
  // A user may have fixed the account and started this job.
  const anyway = isLast || !parked;
  // Some accounts may still fetch results although the service converts nothing more for them.
  const key = isPaid(failure) ? `results of ${app}` : app;
  return refusals.ask({ key, readyAt, isParked: parked !== undefined, firstPauseMs: firstProbeMs, anyway });
}

/** The app is accepted again, so its parked jobs need not wait for their next probe. Never rejects. */
export async function wakeParked({ client, log }: Context, app: string): Promise<void> {
  try {
    await signalListedJobs(client, { app });
  } catch (error) {
    log.warn('Parked jobs could not be told that their app is accepted again; they ask by themselves', { app, error });
  }
}

/** Shares a refusal of the account with the other jobs. */
function shareRefusal(account: Probe, error: unknown, failure: FailureContext): void {
  const { code, message } = error instanceof ConversionApiError ? error : { code: '', message: '' };
  const isRefused = lookUpErrorCode(code)?.refusesAccount === true && !failure.mayHaveOtherToken;
  if (isRefused) failure.probeAfterMs = account.refused({ code, message: withAdvice(message, code, failure) });
}

/** Undefined for our own failures, such as "not yet", which explain nothing. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof ApplicationFailure || !(error instanceof Error)) return undefined;
  return error.message.slice(0, 500);
}

/** Requests time out before Temporal's attempt does, so that the attempt can report why; the margin is for many at once. */
function answerTimeoutMs(attemptTimeoutMs: number): number {
  const marginMs = Math.min(Math.max(1_000, attemptTimeoutMs / 10), 5_000);
  return Math.max(attemptTimeoutMs - marginMs, attemptTimeoutMs / 2);
}

/** A long wait explains why a job makes no progress; a short one is routine. */
function logThrottled({ log }: Context, error: unknown): void {
  if (!(error instanceof ConversionApiError) || error.retryAfterSeconds === undefined) return;
  const { endpoint, code, httpStatus, retryAfterSeconds } = error;
  const level = retryAfterSeconds >= longWaitSeconds ? 'warn' : 'debug';
  log[level]('The service wants a pause', { code, endpoint, httpStatus, retryAfterSeconds });
}

/** For a batch step's writes; `signal` aborts as in `ActivityAttempt`. */
interface BatchStep {
  signal: AbortSignal;
  workflowId: string;
  jobKey: string;
  attempt: number;
}

/** An activity without a conversion: adds the heartbeat and converts its errors. */
export function batchStep<Input, Result>(
  work: (input: Input, step: BatchStep, client: Client) => Promise<Result>,
  { step = 'batch', notifies }: { step?: 'batch' | 'plan' } & Pick<FailureContext, 'notifies'> = {},
) {
  return async (input: Input): Promise<Result> => {
    const context = Context.current();
    const { workflowExecution, activityId, attempt, retryPolicy } = context.info;
    const heartbeat = new AcknowledgedHeartbeat(context);
    heartbeat.start();
    const ids = workflowExecution ? [workflowExecution.workflowId, workflowExecution.runId] : [activityId];
    const jobKey = [...ids, activityId].join('/');
    try {
      const workflowId = workflowExecution?.workflowId ?? '';
      return await work(input, { workflowId, jobKey, attempt, signal: heartbeat.signal }, context.client);
    } catch (error) {
      const pauses = readRetryPauses(retryPolicy);
      throw toFailure(error, { step, app: '', attempt, pauses, requests: 0, notifies });
    } finally {
      heartbeat.stop();
    }
  };
}
