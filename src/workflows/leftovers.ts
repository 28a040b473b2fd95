import type { DiscardDownloadInput, FolderMarker } from '../shared/activities';
import { failureCodes } from '../shared/activities';
import type { ConversionJobInput } from '../shared/job';
import type { JobActivities } from './job-activities';
import { readFailure } from './job-failure';

/** What a job has left in the destination's folder besides its result, and who removes it when there is no result. */
export class Leftovers {
  /** Of the upload; a download that has ended has removed it. */
  marker: FolderMarker | undefined;

  constructor(
    private readonly input: ConversionJobInput,
    private readonly activities: JobActivities,
  ) {}

  /** Of an activity's input. */
  get marked(): { marker?: FolderMarker } {
    return this.marker ? { marker: this.marker } : {};
  }

  /** Of a job that has begun no download. Returns as below. */
  async discardMarker(): Promise<string> {
    return this.marker ? this.discard({ markerOnly: true }) : '';
  }

  /** Returns what a person should know when it could not be done. */
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
