import type { DiscardDownloadInput } from '../shared/activities';
import { currentJobKey } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import { outputName } from './output-name';

/** Removes the temporary file of a download that will not be finished. Repeat-safe. */
export function createDiscardDownload({ files }: ActivityDependencies) {
  return async (input: DiscardDownloadInput): Promise<void> => {
    const suggestedName = outputName(input.sourceName, input.output);
    const plan = await files.prepareDestination({ uri: input.destination, suggestedName, onExisting: 'overwrite' });
    await files.discardPartial({ uri: plan.uri, jobKey: currentJobKey() });
  };
}
