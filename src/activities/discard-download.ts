import type { DiscardDownloadInput } from '../shared/activities';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';

/** Removes the temporary file of a download that will not be finished. Repeat-safe. */
export function createDiscardDownload({ files, metrics }: ActivityDependencies) {
  return (input: DiscardDownloadInput): Promise<void> =>
    runAttempt({ step: 'download', app: input.app, metrics }, ({ jobKey }) =>
      files.discardPartial({ uri: input.destination, jobKey }),
    );
}
