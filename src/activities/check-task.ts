import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckTaskInput, CheckTaskResult } from '../shared/activities';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import { notFinished } from './failure';
import { nextCheckDelayMs } from './poll-schedule';
import { reportTask } from './task-report';

/** Waits up to this long hold their slot: a retry by the server costs more, and comes up to a second late. */
const longestWaitInsideMs = 2_000;

/** Details of this activity's heartbeats. */
interface CheckHeartbeat {
  /** Requests spent by this attempt and those before it. */
  requests: number;
}

/**
 * Asks how the conversion stands until it is finished (`task/response`). Repeat-safe.
 *
 * A long "not yet" is a failure that Temporal retries after a delay of our choice, which adds nothing to the history and holds no slot.
 */
export function createCheckTask({ api }: ActivityDependencies) {
  return (input: CheckTaskInput): Promise<CheckTaskResult> =>
    runAttempt('check', input.app, async ({ number, heartbeat, previousDetails, signal, turn, failure }) => {
      failure.taskId = input.taskId;
      failure.taskIsHint = input.fromCallback === true;
      let requests = requestsBefore(previousDetails);
      heartbeat.update({ requests } satisfies CheckHeartbeat);
      const countRequest = () => {
        requests += 1;
        failure.requests = 1;
        heartbeat.update({ requests } satisfies CheckHeartbeat);
        return Promise.resolve();
      };
      const elapsedMs = () => Date.now() - input.submittedAt;
      let delayMs = number === 1 ? input.firstCheckAfterMs - elapsedMs() : 0;
      let said = 'no check yet';
      for (;;) {
        if (delayMs > longestWaitInsideMs) {
          await heartbeat.record({ requests } satisfies CheckHeartbeat);
          throw notFinished(`${said}; next check in ${(delayMs / 1_000).toFixed(1)} s`, delayMs, failure);
        }
        if (delayMs > 0) await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
        const service = await api(input.app);
        const snapshot = await service.taskResponse({
          connector: input.taskId,
          signal,
          turn: { ...turn, beforeSend: countRequest },
        });
        const report = reportTask(snapshot, input.taskId, failure);
        if (report.finished) return { report, requests };
        said = `the service says ${JSON.stringify(snapshot.status)}`;
        delayMs = nextCheckDelayMs({ elapsedMs: elapsedMs(), maxMs: input.maxCheckIntervalMs, random: Math.random });
      }
    });
}

function requestsBefore(details: unknown): number {
  return ((details ?? {}) as Partial<CheckHeartbeat>).requests ?? 0;
}
