import type { DownloadFileInput, DownloadFileResult } from '../shared/activities';
import { lastSegment } from '../shared/job';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import { planDestination } from './job-destination';

/** Details of this activity's heartbeats. */
interface DownloadHeartbeat {
  /** Requests spent by this attempt and those before it. */
  requests: number;
}

/**
 * Gets a download URL and the bytes, and puts them at the destination whole or not at all (`download/url`, `download/url/get`). Repeat-safe:
 * a repeated attempt recognises the file that a lost one finished, by its bytes.
 */
export function createDownloadFile({ api, files }: ActivityDependencies) {
  return (input: DownloadFileInput): Promise<DownloadFileResult> =>
    runAttempt('download', input.app, async ({ number, heartbeat, signal, previousDetails, jobKey, failure }) => {
      failure.taskId = input.taskId;
      const spentBefore = readHeartbeat(previousDetails).requests;
      const plan = await planDestination(files, { ...input, attempt: number });
      if (plan.kind === 'skip') return { skipped: true, requests: spentBefore };

      const service = await api(input.app);
      heartbeat.update({ requests: spentBefore + 2 } satisfies DownloadHeartbeat);
      failure.requests = 1;
      const ticket = await service.downloadUrl({ connector: input.taskId, signal });
      failure.requests = 2;
      const requests = spentBefore + failure.requests;
      const stream = await service.download({ ticket, signal });
      const stored = await files.writeDestination({
        uri: plan.uri,
        jobKey,
        attempt: number,
        body: stream.body,
        expectedSize: ticket.size ?? stream.contentLength,
        onExisting: input.onExisting,
        signal,
      });
      if (stored.skipped) return { skipped: true, requests };
      const { uri, bytes, sha256 } = stored;
      return { skipped: false, file: { uri, name: lastSegment(uri), bytes, sha256 }, requests };
    });
}

function readHeartbeat(details: unknown): DownloadHeartbeat {
  const { requests } = (details ?? {}) as Partial<DownloadHeartbeat>;
  return { requests: requests ?? 0 };
}
