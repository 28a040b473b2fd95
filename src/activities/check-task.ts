import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskSnapshot } from '../http/conversion-api';
import type { TaskReport, CheckTaskInput, CheckTaskResult } from '../shared/activities';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import type { FailureContext } from './failure';
import { firstCheckDelayMs, nextCheckDelayMs } from './pauses';
import { chargedFailure, notFinished, taskFailure, unknownStatusFailure } from './task-failure';

/** Waits up to this long keep their slot: a retry by the server costs more and comes up to a second late. */
const longestWaitInsideMs = 2_000;

/** Details of this activity's heartbeats; times are milliseconds since the submit. */
interface CheckHeartbeat {
  /** Requests sent by all attempts so far. */
  requests: number;
  /** When the service last answered "not yet". */
  notYetMs?: number;
  /** When the next poll is due. */
  dueMs?: number;
}

/**
 * Polls the conversion task until it is finished (`task/response`). Idempotent. A long "not yet" fails the attempt, and
 * Temporal retries it after our delay, which adds nothing to the history and holds no slot.
 */
export function createCheckTask({ api, times, metrics, slots }: ActivityDependencies) {
  return (input: CheckTaskInput): Promise<CheckTaskResult> =>
    runAttempt({ step: 'check', app: input.app, metrics, slots }, async (attempt) => {
      const { heartbeat, previousDetails, signal, turn, failure } = attempt;
      failure.taskId = input.taskId;
      failure.taskIsHint = input.fromCallback === true;
      const known: CheckHeartbeat = { requests: 0, ...((previousDetails ?? {}) as Partial<CheckHeartbeat>) };
      let { requests, notYetMs } = known;
      const seen = (): CheckHeartbeat => ({ requests, ...(notYetMs !== undefined && { notYetMs }) });
      const tellRequests = () => {
        failure.requests = requests;
        heartbeat.update(seen());
      };
      tellRequests();
      const countRequest = () => {
        requests += 1;
        tellRequests();
        return Promise.resolve();
      };
      // The workflow recorded the submit by the server's clock; this machine's may be hours off, or be adjusted.
      const toldMs = failure.serverNow === undefined ? 0 : failure.serverNow() - attempt.ageMs() - input.submittedAt;
      const atStartMs = Math.max(toldMs, known.dueMs ?? notYetMs ?? 0);
      const elapsedMs = () => atStartMs + attempt.ageMs();
      const pair = [input.app, input.input ?? path.extname(input.sourceName).toLowerCase(), input.output].join(' ');
      const { maxCheckIntervalMs: maxMs } = input;
      const { random } = Math;
      const firstMs = firstCheckDelayMs({
        toldMs: input.firstCheckAfterMs,
        learnedMs: times.firstCheckMs(pair),
        maxMs,
        random,
      });
      let delayMs = failure.attempt === 1 ? firstMs - elapsedMs() : 0;
      let said = 'no check yet';
      for (;;) {
        if (delayMs > longestWaitInsideMs) {
          await heartbeat.record({ ...seen(), dueMs: elapsedMs() + delayMs } satisfies CheckHeartbeat);
          throw notFinished(`${said}; next check in ${(delayMs / 1_000).toFixed(1)} s`, delayMs, failure);
        }
        if (delayMs > 0) await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
        const service = api(input.app);
        const snapshot = await service.taskResponse({
          connector: input.taskId,
          signal,
          turn: { ...turn, beforeSend: countRequest },
        });
        const report = reportTask(snapshot, input.taskId, failure);
        if (report.finished) {
          const durationMs = report.durationSeconds === undefined ? undefined : report.durationSeconds * 1_000;
          // The submit time of a task named by a callback is unknown.
          if (!input.fromCallback) times.observe(pair, { notYetMs: notYetMs ?? 0, doneMs: elapsedMs(), durationMs });
          return { report, requests };
        }
        notYetMs = elapsedMs();
        said = whatItSays(snapshot);
        delayMs = nextCheckDelayMs({ elapsedMs: notYetMs, learnedMs: times.firstCheckMs(pair), maxMs, random });
      }
    });
}

function whatItSays({ status, error }: TaskSnapshot): string {
  const named = `the service says ${JSON.stringify(status)}`;
  if (error) return `${named}, and ${error.code}, which is not final before the task is completed`;
  return status === 'completed' ? `${named}, but its result is not there yet` : named;
}

/**
 * Converts a task's state for the job: completed does not mean successful (section "States and transitions"), and only
 * a completed task's error is final. A missing result (`null`, `{}`) means "not yet". After a submit, anything but
 * success is left to the next poll: the task id is then known, so its cost is recorded.
 *
 * @throws ApplicationFailure when the task completed with an error, or with an output status other than `successful`.
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
  return {
    taskId,
    connector: snapshot.connector ?? taskId,
    finished,
    ...(vcredits !== undefined && { vcredits }),
    ...(durationSeconds !== undefined && { durationSeconds }),
    warnings: { ...warnings },
  };
}
