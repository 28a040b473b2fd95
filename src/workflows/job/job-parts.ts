import { isCancellation } from '@temporalio/workflow';
import { failureCodes } from '../../shared/activities';
import { defined } from '../../shared/defined';
import { sourceName, type ConversionJobInput, type JobPhase } from '../../shared/job';
import { shownTime } from '../../shared/wording';
import { CreditsPark } from './credits-park';
import { createJobActivities, OrderedWaits, type JobActivities } from './job-activities';
import { JobCallbacks } from './job-callbacks';
import { readFailure, type JobFailure } from './job-failure';
import { JobProgress } from './job-progress';
import { resolvePolicies, type ResolvedPolicies } from './policies';
import { RoomWait } from './room-wait';

/** What the steps of a job share. */
export class JobParts {
  readonly policies: ResolvedPolicies;
  readonly name: string;
  readonly activities: JobActivities;
  readonly progress: JobProgress;
  readonly callbacks = new JobCallbacks();
  readonly credits: CreditsPark;
  readonly waits: OrderedWaits;
  readonly room: RoomWait;
  /** Of the worker that uploaded, if workers on others may not see the destination's folder. */
  host: string | undefined;

  constructor(readonly input: ConversionJobInput) {
    this.policies = resolvePolicies(input);
    this.name = sourceName(input.source);
    const progress = new JobProgress(input);
    this.progress = progress;
    const { creditsDeadlineMs, downloadDeadlineMs } = this.policies;
    this.waits = new OrderedWaits(creditsDeadlineMs, (untilMs, message) => {
      progress.orderedWaitsMs += untilMs - Date.now();
      progress.enter(progress.phase, `Waits until ${shownTime(untilMs)} UTC, as the service orders: ${message}`);
    });
    this.activities = createJobActivities(this.policies, this.waits);
    this.credits = new CreditsPark({ app: input.app, creditsDeadlineMs }, progress);
    this.room = new RoomWait({ destination: input.destination ?? '', deadlineMs: downloadDeadlineMs }, progress);
  }
}

interface RepeatedStep {
  phase: JobPhase;
  deadlineCode: string;
  /** Called after a failure that ends the job; returns a note for the user. */
  cleanUp?: () => Promise<string>;
}

/**
 * Runs a step that is safe to repeat; waits and repeats it while the app lacks vCredits or the destination room.
 * `lost`: the service no longer has the task.
 */
export async function runStep<T>(
  { progress, credits, room }: JobParts,
  { phase, deadlineCode, cleanUp = () => Promise.resolve('') }: RepeatedStep,
  run: () => Promise<T>,
): Promise<T | { lost: JobFailure }> {
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
        return { lost: failure };
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

/** Removes what an abandoned download left. Returns a note for the user when that failed, otherwise an empty string. */
export async function discardDownload({ input, activities, host }: JobParts): Promise<string> {
  const { app, destination } = input;
  if (destination === undefined) return '';
  try {
    await activities.discardDownload(defined({ app, destination, host }));
    return '';
  } catch (error) {
    const { message } = readFailure(error, failureCodes.downloadDeadline);
    return `A temporary file may be left beside ${destination}: ${message}`;
  }
}
