import type { DiscardDownloadInput } from '../shared/activities';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';

/** Removes the temporary file of a download that will not be finished. Repeat-safe. */
export function createDiscardDownload({ files, metrics, slots }: ActivityDependencies) {
  return (input: DiscardDownloadInput): Promise<void> =>
    runAttempt({ step: 'download', app: input.app, metrics, slots }, ({ jobKey }) =>
      files.discardPartial({ uri: input.destination, jobKey }),
    );
}
