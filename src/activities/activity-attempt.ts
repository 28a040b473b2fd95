import { Context } from '@temporalio/activity';
import type { RequestTurn } from '../api/conversion-api';
import { ConversionApiError } from '../api/errors';
import { AcknowledgedHeartbeat } from './acknowledged-heartbeat';
import type { AppSlots } from './app-slots';
import type { FailureContext } from './failure';
import { endedByRateLimit, isUnreadable, toFailure } from './failure';
import { readRetryPauses } from './retry-pauses';
import type { WorkerMetrics } from './worker-metrics';

/** One attempt of an activity: its heartbeat, its count of requests, and the one way its errors leave it. */
export interface ActivityAttempt {
  /** 1 for the first. */
  readonly number: number;
  /** Attempts so far that have sent something, this one included. */
  readonly requests: number;
  readonly heartbeat: AcknowledgedHeartbeat;
  /** Details of the last heartbeat of an earlier attempt; not to be trusted to be of any shape. */
  readonly previousDetails: unknown;
  /** Aborts on cancellation, on loss of the attempt, and at shutdown. */
  readonly signal: AbortSignal;
  /** Milliseconds since this attempt began. */
  ageMs(): number;
  /** How this attempt's requests wait for their turn at the rate limit. */
  readonly turn: RequestTurn;
  /** Identity of the job that this activity belongs to, the same in all its runs: one goes on with what another left behind. */
  readonly jobKey: string;
  /** The job that this activity belongs to. */
  readonly run: { workflowId: string; runId: string } | undefined;
  /** What failures of this attempt are told with; the activity keeps `requests` and `taskId` up to date. */
  readonly failure: FailureContext;
}

/** What attempts before this one came to. Part of the details of every heartbeat. */
interface EarlierAttempts {
  /** Answered with 429: no attempts at anything. */
  throttled?: number;
  /** Never sent, since their turn was too far away: no attempts either. */
  turnedAway?: number;
  /** The last ones, in a row, to which something came that was no answer of the service. */
  unreadable?: number;
}

/**
 * A longer wait gives the slot back, so that those who wait for one class of endpoints leave slots to the others. A submit does not beat before
 * its fence, and must reach it within the heartbeat time-out.
 */
const longestWaitMs = 7_000;
/** Of a RETRY-AFTER that is worth a line in the log. */
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
  // A submit begins its beat only behind its fence, which an older beat must not overtake.
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
    // The server's clock, which the workflow's deadlines go by; this machine's may be minutes away.
    serverNow: () => info.currentAttemptScheduledTimestampMs + (performance.now() - startedAtMs),
  };
  try {
    // What earlier attempts have recorded outlives one that is not let in.
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
    const told = toFailure(error, failure);
    metrics?.attemptFailed({ step, app }, { error, told });
    throw told;
  } finally {
    heartbeat.stop();
  }
}

/** A request is given up before Temporal gives up its attempt, so that the attempt tells why: of many, too, that end together. */
function answerTimeoutMs(attemptTimeoutMs: number): number {
  const marginMs = Math.min(Math.max(1_000, attemptTimeoutMs / 10), 5_000);
  return Math.max(attemptTimeoutMs - marginMs, attemptTimeoutMs / 2);
}

/** A long wait is news for whoever wonders why nothing goes on; a short one is everyday. */
function logThrottled({ log }: Context, error: unknown): void {
  if (!(error instanceof ConversionApiError) || error.retryAfterSeconds === undefined) return;
  const { endpoint, code, httpStatus, retryAfterSeconds } = error;
  const level = retryAfterSeconds >= longWaitSeconds ? 'warn' : 'debug';
  log[level]('The service wants a pause', { code, endpoint, httpStatus, retryAfterSeconds });
}

/** Names a job's temporary files: the same for every attempt and every activity of one run. */
function currentJobKey(): string {
  const { workflowExecution, activityId } = Context.current().info;
  return workflowExecution?.workflowId ?? activityId;
}
