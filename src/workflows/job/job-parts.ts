import { isCancellation } from '@temporalio/workflow';
import { failureCodes, type DiscardDownloadInput } from '../../shared/activities';
import { sourceName, type ConversionJobInput, type FolderMarker, type JobPhase } from '../../shared/job';
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
  /** Target format; empty of a job with several outputs, which are jobs of their own. */
  readonly output: string;
  readonly activities: JobActivities;
  readonly progress: JobProgress;
  readonly callbacks = new JobCallbacks();
  readonly credits: CreditsPark;
  readonly waits: OrderedWaits;
  readonly room: RoomWait;
  readonly leftovers: Leftovers;

  constructor(readonly input: ConversionJobInput) {
    this.policies = resolvePolicies(input);
    this.name = sourceName(input.source);
    this.output = input.output ?? '';
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
    this.leftovers = new Leftovers(input, this.activities);
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

/** Tracks what a job leaves in the destination's folder besides its result; removes it when there is no result. */
export class Leftovers {
  /** Set by the upload; a completed download removes the marker. */
  marker: FolderMarker | undefined;

  constructor(
    private readonly input: ConversionJobInput,
    private readonly activities: JobActivities,
  ) {}

  get marked(): { marker?: FolderMarker } {
    return this.marker ? { marker: this.marker } : {};
  }

  /** For a job that has not begun its download. Returns the same as `discard`. */
  async discardMarker(): Promise<string> {
    // That of another job is removed by it.
    return this.marker?.jobId === undefined && this.marker ? this.discard({ markerOnly: true }) : '';
  }

  /** Returns a note for the user when the cleanup failed, otherwise an empty string. */
  async discard(only: Pick<DiscardDownloadInput, 'markerOnly'> = {}): Promise<string> {
    const { destination, outputs = [{ destination }] } = this.input;
    const { marked } = this;
    this.marker = undefined;
    const folders = new Map(outputs.map((each) => [each.destination?.replace(/[^/]*$/, ''), each.destination]));
    const notes = await Promise.all([...folders.values()].map((each) => this.discardAt(each, { ...marked, ...only })));
    return notes.filter(Boolean).join(' ');
  }

  private async discardAt(
    destination: string | undefined,
    options: Pick<DiscardDownloadInput, 'marker' | 'markerOnly'>,
  ): Promise<string> {
    if (destination === undefined) return '';
    try {
      await this.activities.discardDownload({ app: this.input.app, destination, ...options });
      return '';
    } catch (error) {
      const { message } = readFailure(error, failureCodes.downloadDeadline);
      return `A temporary file may be left beside ${destination}: ${message}`;
    }
  }
}
