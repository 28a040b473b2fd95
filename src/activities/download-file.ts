import type { DownloadFileInput, DownloadFileResult } from '../shared/activities';
import { lastSegment } from '../shared/job';
import type { CommitCandidate, FileStore } from '../storage/file-store';
import { runAttempt } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import { planDestination } from './job-destination';

/** Details of this activity's heartbeats. */
interface DownloadHeartbeat {
  /** Requests spent by this attempt and those before it. */
  requests: number;
  /** The file was about to get this name: if it stands there, it is ours. */
  commit?: CommitCandidate;
}

/**
 * Gets a download URL and the bytes, and puts them at the destination whole or not at all (`download/url`, `download/url/get`). Repeat-safe:
 * a repeated attempt recognises the file that a lost one finished.
 */
export function createDownloadFile({ api, files }: ActivityDependencies) {
  return (input: DownloadFileInput): Promise<DownloadFileResult> =>
    runAttempt('download', input.app, async ({ number, heartbeat, signal, previousDetails, jobKey, failure }) => {
      failure.taskId = input.taskId;
      const previous = readHeartbeat(previousDetails);
      // Else a heartbeat of this attempt would wipe out what the lost one has recorded, and a third attempt could not tell.
      heartbeat.update(previous);
      const finished = previous.commit && (await committedFile(files, previous.commit));
      if (finished) {
        // For a moment the file has both names, and the worker may have been lost right then.
        await files.discardPartial({ uri: finished.uri, jobKey });
        return { skipped: false, file: finished, requests: previous.requests };
      }

      const plan = await planDestination(files, input);
      if (plan.kind === 'skip') return { skipped: true, requests: previous.requests };

      const service = await api(input.app);
      heartbeat.update({ requests: previous.requests + 2 } satisfies DownloadHeartbeat);
      failure.requests = 1;
      const ticket = await service.downloadUrl({ connector: input.taskId, signal });
      failure.requests = 2;
      const requests = previous.requests + failure.requests;
      const stream = await service.download({ ticket, signal });
      const stored = await files.writeDestination({
        uri: plan.uri,
        jobKey,
        attempt: number,
        body: stream.body,
        expectedSize: ticket.size ?? stream.contentLength,
        onExisting: input.onExisting,
        beforeCommit: (commit) => heartbeat.record({ requests, commit } satisfies DownloadHeartbeat),
        signal,
      });
      if (stored.skipped) return { skipped: true, requests };
      const { uri, bytes, sha256 } = stored;
      return { skipped: false, file: { uri, name: lastSegment(uri), bytes, sha256 }, requests };
    });
}

async function committedFile(files: FileStore, commit: CommitCandidate) {
  const found = await files.describeStored(commit.uri);
  if (found?.bytes !== commit.bytes || found.sha256 !== commit.sha256) return undefined;
  return { uri: commit.uri, name: lastSegment(commit.uri), bytes: commit.bytes, sha256: commit.sha256 };
}

function readHeartbeat(details: unknown): DownloadHeartbeat {
  const heartbeat = (details ?? {}) as Partial<DownloadHeartbeat>;
  return { requests: heartbeat.requests ?? 0, ...(heartbeat.commit && { commit: heartbeat.commit }) };
}
