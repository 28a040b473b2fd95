import { setTimeout as sleep } from 'node:timers/promises';
import type { AcceptedSubmit, AwaitingHeartbeat, ConvertFileInput } from '../job/activities';
import type { CallbackSubmission } from '../job/types';
import type { ActivityAttempt, ActivityDependencies } from './activity-attempt';
import { reportTask } from './check-task';
import { firstCheckDelayMs, kindOf } from './pauses';

/** An attempt of this age sends a heartbeat at once: part of the heartbeat timeout has already passed. */
export const longAgeMs = 2_000;

/** Conversions that usually take no longer are awaited here. */
const quickMs = 1_200;
/** Limits for the poll: for its turn at the rate limit, and for turn and answer together. */
const quickTurnMs = 1_500;
const quickAnswerMs = 3_000;

/**
 * Awaits the end of a conversion that is known to be quick, which saves the job a step and costs no request. Any failure is left to
 * the check step: with the record, the task is known even if this worker is lost. A callback received here does not signal the job,
 * so the check step must not wait for one.
 */
export function createAwaitQuick({
  api,
  times,
  callbackComes,
}: Pick<ActivityDependencies, 'api' | 'times' | 'callbackComes'>) {
  return async function awaitQuick(
    accepted: AcceptedSubmit,
    input: ConvertFileInput,
    { heartbeat, turn, signal, ageMs, failure }: ActivityAttempt,
    submission: CallbackSubmission | undefined,
  ): Promise<AcceptedSubmit> {
    const { awaitsMs, parked } = input;
    const kind = kindOf(input);
    const learnedMs = times.firstCheckMs(kind) ?? Infinity;
    if (awaitsMs === undefined || parked || learnedMs > quickMs || ageMs() > longAgeMs) return accepted;
    const { taskId } = accepted.report;
    const submittedMs = ageMs();
    const sinceSubmitMs = () => Math.ceil(ageMs() - submittedMs);
    const known = { ...accepted };
    const beforeSend = () => {
      known.requests += 1;
      return Promise.resolve();
    };
    try {
      // A beat must not overtake the record, so the regular beat is off meanwhile.
      heartbeat.stop();
      await heartbeat.record({ phase: 'awaiting', accepted: { ...accepted, notYetMs: 0 } } satisfies AwaitingHeartbeat);
      heartbeat.start();
      const maxMs = Math.min(quickMs, awaitsMs);
      const pauseMs = firstCheckDelayMs({ configuredMs: undefined, learnedMs, maxMs, random: Math.random });
      // If a callback is expected, an earlier check would only cost a request and a step.
      const isCalled =
        callbackComes && submission && accepted.callback
          ? await callbackComes(submission, maxMs, signal)
          : await sleep(Math.max(pauseMs - sinceSubmitMs(), 0), false, { signal });
      if (isCalled) delete known.callback;
      const awaitedMs = sinceSubmitMs();
      known.notYetMs = awaitedMs;
      const answerByMs = performance.now() + quickAnswerMs;
      const quickTurn = { ...turn, maxWaitMs: quickTurnMs, answerByMs, beforeSend };
      const snapshot = await api(input.app).taskResponse({ connector: taskId, signal, turn: quickTurn });
      const report = reportTask(snapshot, taskId, failure);
      known.notYetMs = sinceSubmitMs();
      if (report.finished) {
        const doneMs = isCalled ? awaitedMs : known.notYetMs;
        const durationSeconds = isCalled ? doneMs / 1_000 : report.durationSeconds;
        times.observe(kind, { notYetMs: 0, doneMs, durationSeconds });
        return { ...accepted, report, requests: known.requests };
      }
      if (snapshot.error) known.notYetMs = 0;
    } catch {
      // The job continues with what is known so far.
    }
    return known;
  };
}
