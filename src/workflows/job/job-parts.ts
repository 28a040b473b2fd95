import { isCancellation, workflowInfo } from '@temporalio/workflow';
import { failureCodes, type Parking } from '../../job/activities';
import { defined } from '../../job/defined';
import { recallingRunBefore } from '../../job/run-before';
import { sourceName, type ConversionJobInput, type JobPhase } from '../../job/types';
import type { ResultCheck } from '../../job/policies';
import { shownTime } from '../../messages/wording';
import { createJobActivities, OrderedWaits, type JobActivities } from './job-activities';
import { JobCallbacks } from './job-callbacks';
import { readFailure, type JobFailure } from './job-failure';
import { JobProgress } from './job-progress';
import { Park } from './park';
import { resolvePolicies, type ResolvedPolicies } from './policies';

export class JobParts {
  readonly input: ConversionJobInput;
  readonly policies: ResolvedPolicies;
  readonly name: string;
  readonly activities: JobActivities;
  readonly progress: JobProgress;
  readonly callbacks = new JobCallbacks();
  readonly park: Park;
  readonly waits: OrderedWaits;
  readonly checking: { check?: ResultCheck };
  /** Host of the worker that uploaded, if other hosts may not see the destination's folder. */
  host: string | undefined;
  /** From the input; after a recall, the result that the recalled job delivered. */
  replaces: ConversionJobInput['replaces'];

  constructor(input: ConversionJobInput) {
    this.policies = resolvePolicies(input);
    this.input = recallingRunBefore(input, workflowInfo().continuedFromExecutionRunId);
    this.replaces = input.replaces;
    this.name = sourceName(input.source);
    const progress = new JobProgress(input);
    this.progress = progress;
    const { parkedDeadlineMs, onRefusedAccount } = this.policies;
    const { check } = this.policies;
    this.checking = check === 'bytes' || input.destination === undefined ? {} : { check };
    this.waits = new OrderedWaits(parkedDeadlineMs, (untilMs, message) => {
      progress.orderedWaitsMs += untilMs - Date.now();
      progress.enter(progress.phase, `Waits until ${shownTime(untilMs)} UTC, as the service orders: ${message}`);
    });
    this.activities = createJobActivities(this.policies, this.waits);
    const { app, destination = '' } = input;
    this.park = new Park(
      { app, destination, deadlineMs: parkedDeadlineMs, parksRefused: onRefusedAccount === 'park' },
      progress,
    );
  }
}

interface RepeatedStep {
  phase: JobPhase;
  deadlineCode: string;
  /** Called after a failure that ends the job; returns a note for the user, or an empty string. */
  cleanUp?: () => Promise<string>;
}

/** Runs a step that is safe to repeat; parks while it needs a person. `lost`: the service no longer has the task. */
export function runStep<T>(
  { progress, park }: JobParts,
  { phase, deadlineCode, cleanUp = () => Promise.resolve('') }: RepeatedStep,
  run: (parking: Parking) => Promise<T>,
): Promise<T | { lost: JobFailure }> {
  const attempt = (): Promise<T | { lost: JobFailure }> =>
    park.run(run).catch(async (error: unknown) => {
      if (isCancellation(error)) throw error;
      const failure = park.read(error, deadlineCode);
      progress.requests += failure.requests;
      if (failure.reaction === 'taskLost') {
        progress.charge.lost();
        return { lost: failure };
      }
      if (failure.reaction !== 'park') throw progress.failed(failure, await cleanUp());
      progress.lastFailure = failure;
      park.enter(failure);
      return attempt();
    });
  progress.enter(phase);
  return attempt();
}

/** Removes the temporary file of an abandoned download. Returns a note for the user if that failed, otherwise an empty string. */
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
