import type { DiscardDownloadInput, DownloadFileInput, DownloadFileResult } from '../job/activities';
import { defined } from '../job/defined';
import { lastSegment } from '../job/types';
import { hasAny } from '../job/warnings';
import { suspectSuffix } from '../storage/file-name';
import type { Stores } from '../storage/stores';
import { runAttempt, type ActivityDependencies } from './activity-attempt';
import { maxUnreadableAnswers } from './reactions';
import { assertSeen, assertUnchanged, planDestination } from './job-destination';

/** Exceeds the time that workers wait for each other's share of an allowance, and most rate limit windows. */
const ticketWaitMs = 70_000;

/**
 * Gets a download URL and the bytes, and commits the file to the destination atomically (`download/url`, `download/url/get`).
 * Idempotent: a retry recognizes, by its bytes, a file that a lost attempt finished.
 */
export function createDownloadFile(dependencies: ActivityDependencies) {
  const { api, files, checks } = dependencies;
  return (input: DownloadFileInput): Promise<DownloadFileResult> =>
    runAttempt(dependencies, { step: 'download', app: input.app, parking: input }, async (activity) => {
      const { number, heartbeat, signal, jobKey, failure } = activity;
      failure.taskId = input.taskId;
      failure.isEarlierTask = input.isEarlier === true;
      const turn = activity.countRequests();
      failure.neededBytes = input.neededBytes;
      // An attempt before this activity may already have written the file.
      const attempt = input.parked || input.isEarlier || input.mayBeDelivered ? number + 1 : number;
      const plan = await planDestination(files, { ...input, attempt }, failure);
      if (plan.kind === 'skip') return { skipped: true, requests: failure.requests };

      const service = api(input.app);
      const ticket = await service.downloadUrl({ connector: input.taskId, signal, turn });
      // Goes first in the queue: if this request is not sent in time, the request for the URL was wasted.
      const patient = { ...turn, since: 0, maxWaitMs: ticketWaitMs };
      const stream = await service.download({ ticket, output: input.output, signal, turn: patient });
      const expectedSize = ticket.size ?? stream.contentLength;
      failure.neededBytes = expectedSize;
      let isUnchanged = plan.replacedStamp === undefined;
      const mayCommit = () => {
        const confirmed = heartbeat.confirm();
        if (confirmed !== undefined || isUnchanged) return confirmed;
        return assertUnchanged(files, plan.uri, plan.replacedStamp).then(() => void (isUnchanged = true));
      };
      const writing = { uri: plan.uri, onExisting: plan.onExisting, jobKey, attempt, expectedSize, signal, mayCommit };
      const { check, output } = input;
      const isLastLook = (failure.unreadableInARow ?? 1) >= maxUnreadableAnswers;
      let suspect: string | undefined;
      const stored =
        check === undefined
          ? await files.writeDestination({ ...writing, body: stream.body })
          : await checks.take(
              { check, output, body: stream.body, expectedSize, signal, isLastLook },
              async (body, problem) => {
                suspect = problem;
                if (suspect === undefined) return files.writeDestination({ ...writing, body });
                return files.writeDestination({
                  ...writing,
                  body,
                  ...(await besideOf(files, plan.uri)),
                  mayCommit: () => heartbeat.confirm(),
                });
              },
            );
      const { requests } = failure;
      if (stored.skipped) return { skipped: true, requests };
      const { uri, bytes, sha256 } = stored;
      const { warnings } = ticket;
      const file = { uri, name: lastSegment(uri), bytes, sha256 };
      return { skipped: false, file, ...defined({ suspect }), ...(hasAny(warnings) && { warnings }), requests };
    });
}

/** A free name beside the destination for a suspect result: no existing file is replaced. */
async function besideOf(files: Stores, uri: string) {
  const asked = { uri: uri.replace(/[^/]*$/, ''), suggestedName: lastSegment(uri) + suspectSuffix };
  const onExisting = 'rename' as const;
  const { uri: beside } = await files.prepareDestination({ ...asked, onExisting });
  return { uri: beside, onExisting };
}

/** Limits the attempts to reach the download's host, because the failed or cancelled job waits for this activity. */
const looksAtMost = 5;

/** Removes the temporary file of an abandoned download. Idempotent. */
export function createDiscardDownload(dependencies: ActivityDependencies) {
  const { files } = dependencies;
  return (input: DiscardDownloadInput): Promise<void> =>
    runAttempt(dependencies, { step: 'download', app: input.app }, async (attempt) => {
      const { number, jobKey, failure } = attempt;
      if (number < looksAtMost) assertSeen(files, input, failure);
      await files.discardPartial({ uri: input.destination, jobKey });
    });
}
