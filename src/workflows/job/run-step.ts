import { isCancellation } from '@temporalio/workflow';
import type { JobPhase } from '../../shared/job';
import { readFailure, type JobFailure } from './job-failure';
import type { JobParts } from './job-parts';

interface StepOptions<Lost> {
  /** Called after a failure that ends the job; returns a note for the user. */
  cleanUp?: () => Promise<string>;
  /** Called when the service no longer has the task. */
  onLost?: (failure: JobFailure) => Lost;
}

/** Runs a step that is safe to repeat; waits and repeats it while the app lacks vCredits or the destination room. */
export async function runStep<T, Lost = never>(
  { progress, credits, room }: JobParts,
  { phase, deadlineCode }: { phase: JobPhase; deadlineCode: string },
  run: () => Promise<T>,
  { cleanUp = () => Promise.resolve(''), onLost }: StepOptions<Lost> = {},
): Promise<T | Lost> {
  for (;;) {
    progress.enter(phase, room.waitsFor);
    credits.forgetRestored();
    try {
      return await run();
    } catch (error) {
      if (isCancellation(error)) throw error;
      const failure = room.explain(readFailure(error, room.deadlineCode(deadlineCode)));
      progress.requests += failure.requests;
      if (failure.reaction === 'taskLost') {
        progress.charge.lost();
        if (!onLost) throw progress.failed(failure);
        return onLost(failure);
      }
      if (failure.reaction !== 'awaitCredits' && failure.reaction !== 'awaitRoom') {
        throw progress.failed(failure, await cleanUp());
      }
      progress.lastFailure = failure;
      if (failure.reaction === 'awaitRoom') room.enter(failure);
      else await credits.wait(failure);
    }
  }
}
