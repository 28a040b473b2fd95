import type { UploadFileInput, UploadFileResult } from '../shared/activities';
import { lastSegment } from '../shared/job';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import { planDestination } from './job-destination';

/** Stores the source at the service (`upload/file`). Repeat-safe: a second upload costs a request and nothing else. */
export function createUploadFile({ api, files }: ActivityDependencies) {
  return (input: UploadFileInput): Promise<UploadFileResult> =>
    runAttempt('upload', input.app, async ({ requests, heartbeat, signal, turn, failure }) => {
      const source = await files.openSource(input.uri);
      if (input.destination !== undefined) {
        // Before anything is spent: a conversion whose result has no place to go is not begun.
        const { destination } = input;
        const plan = await planDestination(files, { ...input, destination, sourceName: lastSegment(input.uri) });
        if (plan.kind === 'skip') return { skipped: true };
      }
      const service = await api(input.app);
      const receipt = await service.uploadFile({
        file: { name: source.name, size: source.size, open: () => source.open() },
        signal,
        turn: {
          ...turn,
          beforeSend: () => {
            failure.requests = 1;
            return Promise.resolve();
          },
        },
        onProgress: (sentBytes) => heartbeat.update({ sentBytes, totalBytes: source.size }),
      });
      return { skipped: false, connector: receipt.connector, requests };
    });
}
