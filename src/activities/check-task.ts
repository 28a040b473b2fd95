import { setTimeout as sleep } from 'node:timers/promises';
import type { ApplicationFailure } from '@temporalio/common';
import { lookUpErrorCode } from '../contract/error-codes';
import type { TaskSnapshot } from '../http/conversion-api';
import { failureCodes, type CheckTaskInput, type CheckTaskResult, type TaskReport } from '../job/activities';
import { defined } from '../job/defined';
import { runAttempt, type ActivityDependencies } from './activity-attempt';
import { build, UnknownSubmitError, withAdvice } from './failure';
import type { FailureContext } from './failure-context';
import { reactionToTask } from './reactions';
import { firstCheckDelayMs, kindOf, nextCheckDelayMs, withinDeadlineMs } from './pauses';

/** Shorter waits keep their slot: a retry by the server costs more and comes up to a second late. */
const maxWaitInsideMs = 2_000;

/** Details of this activity's heartbeats, in addition to its requests; times are milliseconds since the submit. */
interface CheckHeartbeat {
  /** When the service last answered "not yet". */
  notYetMs?: number;
  /** When the next poll is due. */
  dueMs?: number;
}

/**
 * Polls the conversion task until it is finished (`task/response`). Idempotent. After a long "not yet" the attempt fails, and Temporal
 * retries it after our delay, which adds nothing to the history and holds no slot.
 */
export function createCheckTask(dependencies: ActivityDependencies) {
  const { api, times } = dependencies;
  return (input: CheckTaskInput): Promise<CheckTaskResult> =>
    runAttempt(dependencies, { step: 'check', app: input.app, parking: input }, async (attempt) => {
      const { heartbeat, signal, failure } = attempt;
      failure.taskId = input.taskId;
      failure.taskIsHint = input.fromCallback !== undefined;
      failure.isEarlierTask = input.isEarlier === true;
      const turn = attempt.countRequests();
      const known = attempt.previousDetails as CheckHeartbeat;
      const { notYetMs: knownNotYetMs = 0 } = input;
      let { notYetMs = knownNotYetMs } = known;
      // The workflow recorded the submit by the server's clock; this machine's may be hours off, or be adjusted.
      const recordedMs =
        failure.serverNow === undefined ? 0 : failure.serverNow() - attempt.ageMs() - input.submittedAt;
      const atStartMs = Math.max(recordedMs, known.dueMs ?? 0, notYetMs);
      const elapsedMs = () => atStartMs + attempt.ageMs();
      const pair = kindOf(input);
      const { maxCheckIntervalMs: maxMs, firstCheckAfterMs: firstMs } = input;
      const { random } = Math;
      const learnedMs = times.firstCheckMs(pair);
      const firstCheckMs =
        firstMs === undefined && knownNotYetMs
          ? knownNotYetMs + nextCheckDelayMs({ elapsedMs: knownNotYetMs, learnedMs, maxMs, random })
          : firstCheckDelayMs({ configuredMs: firstMs, learnedMs, maxMs, random });
      let delayMs = failure.attempt === 1 ? firstCheckMs - elapsedMs() : 0;
      let { isCalled } = input;
      let lastAnswer = 'no check yet';
      for (;;) {
        delayMs = withinDeadlineMs(delayMs, failure.leftMs?.());
        if (delayMs > maxWaitInsideMs) {
          await heartbeat.recordLast({ dueMs: elapsedMs() + delayMs } satisfies CheckHeartbeat);
          const message = `${lastAnswer}; next check in ${(delayMs / 1_000).toFixed(1)} s`;
          // A retry adds nothing to the history.
          throw build(failure, { code: failureCodes.notFinished, message, reaction: 'retry', delayMs, expected: true });
        }
        if (delayMs > 0) await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
        const asked = { connector: input.taskId, withPayload: failure.taskIsHint, signal, turn };
        const snapshot = await api(input.app).taskResponse(asked);
        if (isOfOtherSubmit(snapshot, input.fromCallback)) {
          throw new UnknownSubmitError('the task that the callback names belongs to another submit.');
        }
        const report = reportTask(snapshot, input.taskId, failure);
        // The account is accepted again, so the park is over.
        if (!report.finished && input.parked) return { report, requests: failure.requests };
        if (report.finished) {
          // The submit time is unknown if a callback named the task, an earlier run submitted it, or the submit was cut off.
          if (!input.fromCallback && !input.isEarlier && input.notYetMs !== 0) {
            const doneMs = elapsedMs();
            // The service's figure excludes the time in its queue; a callback comes after both.
            const observed = { notYetMs, doneMs, durationSeconds: report.durationSeconds };
            times.observe(pair, isCalled ? { notYetMs: 0, doneMs, durationSeconds: doneMs / 1_000 } : observed);
          }
          return { report, requests: failure.requests };
        }
        isCalled = undefined;
        notYetMs = elapsedMs();
        heartbeat.add({ notYetMs } satisfies CheckHeartbeat);
        lastAnswer = whatItSays(snapshot);
        delayMs = nextCheckDelayMs({ elapsedMs: notYetMs, learnedMs: times.firstCheckMs(pair), maxMs, random });
      }
    });
}

/** Whether a task that a callback named is not this submit's, whose URL has the nonce: its result may be anybody's. */
function isOfOtherSubmit({ payload }: TaskSnapshot, nonce: string | undefined): boolean {
  if (nonce === undefined || typeof payload !== 'object' || payload === null) return false;
  return !('callback' in payload && String(payload.callback).includes(nonce));
}

function whatItSays({ status, error }: TaskSnapshot): string {
  const named = `the service says ${JSON.stringify(status)}`;
  if (error) return `${named}, and ${error.code}, which is not final before the task is completed`;
  return status === 'completed' ? `${named}, but its result is not there yet` : named;
}

/**
 * Converts a task's state for the job: completed does not mean successful (section "States and transitions"), and only a completed
 * task's error is final. A missing result (`null`, `{}`) means "not yet". At the submit, anything but success is left to the next poll:
 * the task id is known by then, so its cost is recorded.
 *
 * @throws ApplicationFailure if the task completed with an error, or with an output status other than `successful`.
 */
export function reportTask(snapshot: TaskSnapshot, taskId: string, context: FailureContext): TaskReport {
  const { status, error, outputStatus, isWithoutResult = false, vcredits, durationSeconds, warnings } = snapshot;
  const isOver =
    !['hold', 'running'].includes(status) && (error !== undefined || (status === 'completed' && !isWithoutResult));
  const finished = isOver && error === undefined && outputStatus === 'successful';
  if (isOver && !finished && context.step !== 'submit') {
    if (!error) throw unknownStatusFailure(outputStatus, context);
    const isCharged = outputStatus === 'successful' || (vcredits ?? 0) > 0;
    throw isCharged ? chargedFailure(error, context) : taskFailure(error, context);
  }
  const connector = snapshot.connector ?? taskId;
  return defined({ taskId, connector, finished, vcredits, durationSeconds, warnings: { ...warnings } });
}

/** For a task that completed with an error (section "States and transitions"): it was not charged. */
export function taskFailure(error: { code: string; message: string }, context: FailureContext): ApplicationFailure {
  const known = lookUpErrorCode(error.code);
  const parksRefused = known?.refusesAccount === true && context.parking?.parksRefused === true;
  return build(context, {
    origin: 'task',
    code: error.code,
    message: withAdvice(`the conversion failed with ${error.code}: ${error.message}`, error.code, context),
    reaction: known === undefined ? 'fail' : reactionToTask(known.class, parksRefused),
    parkedFor: known?.class === 'credits' ? 'credits' : parksRefused ? 'account' : undefined,
    unlisted: known === undefined,
  });
}

/** For a task with an error that was charged or reported as successful: counts as lost, not as free to convert again. */
function chargedFailure(error: { code: string; message: string }, context: FailureContext): ApplicationFailure {
  const { code, message } = error;
  return build(context, {
    code,
    message: `the conversion failed with ${code}: ${message} But the service charged for it, or calls it successful.`,
    reaction: 'taskLost',
    unlisted: lookUpErrorCode(code) === undefined,
  });
}

function unknownStatusFailure(status: string | undefined, context: FailureContext): ApplicationFailure {
  const named = JSON.stringify(status ?? 'missing');
  return build(context, {
    code: failureCodes.unknownOutputStatus,
    message: `the task completed without an error, but its output status is ${named} and not "successful".`,
    reaction: 'fail',
  });
}
