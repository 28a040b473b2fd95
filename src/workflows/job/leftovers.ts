import { failureCodes, type DiscardDownloadInput, type FolderMarker } from '../../shared/activities';
import type { ConversionJobInput } from '../../shared/job';
import type { JobActivities } from './job-activities';
import { readFailure } from './job-failure';

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
    return this.marker ? this.discard({ markerOnly: true }) : '';
  }

  /** Returns a note for the user when the cleanup failed, otherwise an empty string. */
  async discard(only: Pick<DiscardDownloadInput, 'markerOnly'> = {}): Promise<string> {
    const { app, destination } = this.input;
    if (destination === undefined) return '';
    const { marked } = this;
    this.marker = undefined;
    try {
      await this.activities.discardDownload({ app, destination, ...marked, ...only });
      return '';
    } catch (error) {
      const { message } = readFailure(error, failureCodes.downloadDeadline);
      return `A temporary file may be left beside ${destination}: ${message}`;
    }
  }
}
