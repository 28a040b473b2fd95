import type { CheckTaskInput, CheckTaskResult } from '../shared/activities';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import { notFinished } from './failure';
import { nextCheckDelayMs } from './poll-schedule';
import { reportTask } from './task-report';

/**
 * Asks once how the conversion stands (`task/response`). Repeat-safe.
 *
 * "Not yet" is a failure that Temporal retries after a delay of our choice, which adds nothing to the history and holds no slot. The first
 * attempt spends no request: it only sets the time of the first check.
 */
export function createCheckTask({ api }: ActivityDependencies) {
  return (input: CheckTaskInput): Promise<CheckTaskResult> =>
    runAttempt('check', input.app, async ({ number, signal, failure }) => {
      failure.taskId = input.taskId;
      const elapsedMs = Date.now() - input.submittedAt;
      if (number === 1 && elapsedMs < input.firstCheckAfterMs) {
        const delayMs = input.firstCheckAfterMs - elapsedMs;
        throw notFinished(`first check in ${seconds(delayMs)}`, delayMs, failure);
      }
      const service = await api(input.app);
      failure.requests = 1;
      const snapshot = await service.taskResponse({ connector: input.taskId, signal });
      const report = reportTask(snapshot, input.taskId, failure);
      if (!report.finished) {
        const delayMs = nextCheckDelayMs({ elapsedMs, maxMs: input.maxCheckIntervalMs, random: Math.random });
        throw notFinished(
          `the service says ${JSON.stringify(snapshot.status)}; next check in ${seconds(delayMs)}`,
          delayMs,
          failure,
        );
      }
      return { report, requests: Math.max(1, number - 1) };
    });
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
