import { Context } from '@temporalio/activity';
import type { RequestTurn } from '../http/conversion-api';
import { ConversionApiError } from '../http/errors';
import { AcknowledgedHeartbeat } from './acknowledged-heartbeat';
import type { AppSlots } from './app-slots';
import { toFailure, endedByRateLimit, isUnreadable, type FailureContext } from './failure';
import { readRetryPauses } from './pauses';
import type { WorkerMetrics } from './worker-metrics';

/** One attempt of an activity: its heartbeat, its request count, and the conversion of its errors. */
export interface ActivityAttempt {
  /** 1 for the first. */
  readonly number: number;
  /** Attempts that have sent something, including this one. */
  readonly requests: number;
  readonly heartbeat: AcknowledgedHeartbeat;
  /** Details of the last heartbeat of an earlier attempt, unvalidated. */
  readonly previousDetails: unknown;
  /** Aborts on cancellation, when the server drops the attempt, and at shutdown. */
  readonly signal: AbortSignal;
  ageMs(): number;
  /** How this attempt's requests queue for the rate limit. */
  readonly turn: RequestTurn;
  /** Identity of the job, the same in all its runs: one continues what another left behind. */
  readonly jobKey: string;
  readonly run: { workflowId: string; runId: string } | undefined;
  /** Context of this attempt's failures; the activity keeps `requests` and `taskId` up to date. */
  readonly failure: FailureContext;
}

/** Counts of earlier attempts, kept in the details of every heartbeat. */
interface EarlierAttempts {
  /** Answered with 429; not counted as attempts. */
  throttled?: number;
  /** Ended before a request: by a long queue, reserved slots or known missing vCredits; not counted either. */
  turnedAway?: number;
  /** Latest consecutive attempts that received an unreadable response. */
  unreadable?: number;
}

/**
 * A longer wait returns the slot, so that requests queued for one endpoint class leave slots to the others. A submit
 * sends no heartbeat before its fence, and must reach it within the heartbeat timeout.
 */
const longestWaitMs = 7_000;
/** RETRY-AFTER from which a wait is logged as a warning. */
const longWaitSeconds = 10;

interface AttemptOptions {
  step: FailureContext['step'];
  app: string;
  metrics: WorkerMetrics | undefined;
  slots: AppSlots | undefined;
}

export async function runAttempt<T>(
  { step, app, metrics, slots }: AttemptOptions,
  work: (attempt: ActivityAttempt) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const { info } = context;
  const previousDetails = info.heartbeatDetails as unknown;
  const { throttled = 0, turnedAway = 0, unreadable = 0 } = (previousDetails ?? {}) as EarlierAttempts;
  const limited: EarlierAttempts = {
    ...(throttled > 0 && { throttled }),
    ...(turnedAway > 0 && { turnedAway }),
  };
  const heartbeat = new AcknowledgedHeartbeat(context, { ...limited, ...(unreadable > 0 && { unreadable }) });
  const startedAtMs = performance.now();
  // A submit starts its regular beat only after its fence, which an older beat must not overtake.
  if (step !== 'submit') heartbeat.start();
  const pauses = readRetryPauses(info.retryPolicy);
  const failure: FailureContext = {
    step,
    app,
    attempt: info.attempt - throttled - turnedAway,
    refusals: throttled + 1,
    ...(pauses && { pauses }),
    requests: info.attempt - turnedAway - 1,
    unreadableInARow: unreadable + 1,
    // The workflow's deadlines use the server's clock; this machine's may be minutes off.
    serverNow: () => info.currentAttemptScheduledTimestampMs + (performance.now() - startedAtMs),
  };
  try {
    // Keeps what earlier attempts recorded, even if this one gets no slot.
    heartbeat.update(previousDetails ?? {});
    slots?.check(info.taskQueue, app);
    return await work({
      number: info.attempt,
      requests: info.attempt - turnedAway,
      heartbeat,
      previousDetails,
      signal: heartbeat.signal,
      ageMs: () => performance.now() - startedAtMs,
      turn: {
        signal: heartbeat.signal,
        priority: info.priority?.priorityKey,
        since: info.scheduledTimestampMs,
        maxWaitMs: Math.min(longestWaitMs, info.startToCloseTimeoutMs / 2),
        answerByMs: startedAtMs + answerTimeoutMs(info.startToCloseTimeoutMs),
      },
      jobKey: currentJobKey(),
      run: info.workflowExecution,
      failure,
    });
  } catch (error) {
    const limitedBy = endedByRateLimit(error);
    if (limitedBy) await heartbeat.recordLast({ ...limited, [limitedBy]: (limited[limitedBy] ?? 0) + 1 });
    else {
      const unreadableInARow = isUnreadable(error) ? unreadable + 1 : 0;
      if (unreadableInARow !== unreadable) heartbeat.add({ unreadable: unreadableInARow });
      heartbeat.tellWithFailure();
    }
    if (limitedBy === 'throttled') logThrottled(context, error);
    // Only now: a submit that the service refused has lowered its fence.
    if (error instanceof ConversionApiError) failure.mayHaveOtherToken = await error.mayHaveOtherToken?.();
    const told = toFailure(error, failure);
    metrics?.attemptFailed({ step, app }, { error, told });
    throw told;
  } finally {
    heartbeat.stop();
  }
}

/** Requests time out before Temporal's attempt does, which can then report why; the margin covers many at once. */
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

/** Names a job's temporary files: the same in every attempt, activity and run of the job. */
function currentJobKey(): string {
  const { workflowExecution, activityId } = Context.current().info;
  return workflowExecution?.workflowId ?? activityId;
}

interface BatchStep {
  context: Context;
  /** Aborts on cancellation, when the server drops the attempt, and at shutdown. */
  signal: AbortSignal;
  jobKey: string;
  attempt: number;
}

/** Runs a batch activity, which sends no requests to the service: adds the heartbeat and converts its errors. */
export async function runBatchStep<T>(work: (step: BatchStep) => Promise<T>): Promise<T> {
  const context = Context.current();
  const { workflowExecution, activityId, attempt, retryPolicy } = context.info;
  const heartbeat = new AcknowledgedHeartbeat(context);
  heartbeat.start();
  const jobKey = workflowExecution ? `${workflowExecution.workflowId}/${workflowExecution.runId}` : activityId;
  try {
    return await work({ context, signal: heartbeat.signal, jobKey: `${jobKey}/${activityId}`, attempt });
  } catch (error) {
    const pauses = readRetryPauses(retryPolicy);
    throw toFailure(error, { step: 'batch', app: '', attempt, ...(pauses && { pauses }), requests: 0 });
  } finally {
    heartbeat.stop();
  }
}
