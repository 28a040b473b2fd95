import type { DiscardDownloadInput, DownloadFileInput, DownloadFileResult } from '../shared/activities';
import { lastSegment } from '../shared/job';
import { hasAny } from '../shared/warnings';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import { planDestination } from './job-destination';
import { assertShared, removeMarker } from './shared-folder';

/** Details of this activity's heartbeats. */
interface DownloadHeartbeat {
  /** Requests spent by this attempt and those before it. */
  requests: number;
}

/**
 * Gets a download URL and the bytes, and puts them at the destination whole or not at all (`download/url`, `download/url/get`). Repeat-safe:
 * a repeated attempt recognises the file that a lost one finished, by its bytes.
 */
export function createDownloadFile({ api, files, metrics, slots }: ActivityDependencies) {
  return (input: DownloadFileInput): Promise<DownloadFileResult> =>
    runAttempt({ step: 'download', app: input.app, metrics, slots }, async (activity) => {
      const { number, heartbeat, signal, turn, previousDetails, jobKey, failure } = activity;
      failure.taskId = input.taskId;
      let { requests } = readHeartbeat(previousDetails);
      const tellRequests = () => {
        failure.requests = requests;
        heartbeat.update({ requests } satisfies DownloadHeartbeat);
      };
      tellRequests();
      const countRequest = () => {
        requests += 1;
        tellRequests();
        return Promise.resolve();
      };
      const turns = { ...turn, beforeSend: countRequest };
      const isRoomAwaited = input.room?.isAwaited === true;
      failure.isRoomAwaited = isRoomAwaited;
      failure.neededBytes = input.room?.bytes;
      // Whoever waits for room has been here before, and may have lost a worker then.
      const attempt = isRoomAwaited || input.mayBeDelivered ? number + 1 : number;
      await assertShared(files, input, activity);
      const plan = await planDestination(files, { ...input, attempt });
      if (plan.kind === 'skip') {
        await removeMarker(files, input, activity);
        return { skipped: true, requests };
      }

      const service = await api(input.app);
      const ticket = await service.downloadUrl({ connector: input.taskId, signal, turn: turns });
      const stream = await service.download({ ticket, signal, turn: turns });
      const expectedSize = ticket.size ?? stream.contentLength;
      failure.neededBytes = expectedSize;
      const stored = await files.writeDestination({
        uri: plan.uri,
        jobKey,
        attempt,
        body: stream.body,
        expectedSize,
        onExisting: input.onExisting,
        signal,
        mayCommit: () => heartbeat.confirm(),
      });
      await removeMarker(files, input, activity);
      if (stored.skipped) return { skipped: true, requests };
      const { uri, bytes, sha256 } = stored;
      const { warnings } = ticket;
      const file = { uri, name: lastSegment(uri), bytes, sha256 };
      return { skipped: false, file, ...(hasAny(warnings) && { warnings }), requests };
    });
}

function readHeartbeat(details: unknown): DownloadHeartbeat {
  const { requests } = (details ?? {}) as Partial<DownloadHeartbeat>;
  return { requests: requests ?? 0 };
}

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
