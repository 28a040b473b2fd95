import type { DiscardDownloadInput } from '../shared/activities';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import { assertShared, removeMarker } from './shared-folder';

/** So often it looks for the folder of the upload; the job, which has failed or was cancelled, waits for it. */
const looksAtMost = 5;

/** Removes the temporary file of a download that will not be finished, and the marker of the upload. Repeat-safe. */
export function createDiscardDownload({ files, metrics, slots }: ActivityDependencies) {
  return (input: DiscardDownloadInput): Promise<void> =>
    runAttempt({ step: 'download', app: input.app, metrics, slots }, async (attempt) => {
      const { number, jobKey } = attempt;
      if (number < looksAtMost) await assertShared(files, input, attempt);
      await removeMarker(files, input, attempt);
      if (!input.markerOnly) await files.discardPartial({ uri: input.destination, jobKey });
    });
}
