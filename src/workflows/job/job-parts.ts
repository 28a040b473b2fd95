import { isCancellation } from '@temporalio/workflow';
import { failureCodes, type DiscardDownloadInput } from '../../shared/activities';
import type { ConversionJobInput, FolderMarker, JobPhase } from '../../shared/job';
import type { CreditsPark } from './credits-park';
import type { JobActivities } from './job-activities';
import type { JobCallbacks } from './job-callbacks';
import { readFailure, type JobFailure } from './job-failure';
import type { JobProgress } from './job-progress';
import type { OrderedWaits } from './ordered-waits';
import type { ResolvedPolicies } from './policies';
import type { RoomWait } from './room-wait';

export interface JobParts {
  readonly input: ConversionJobInput;
  readonly policies: ResolvedPolicies;
  readonly name: string;
  /** Target format; empty of a job with several outputs, which are jobs of their own. */
  readonly output: string;
  readonly activities: JobActivities;
  readonly progress: JobProgress;
  readonly callbacks: JobCallbacks;
  readonly credits: CreditsPark;
  readonly waits: OrderedWaits;
  readonly room: RoomWait;
  readonly leftovers: Leftovers;
}

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
