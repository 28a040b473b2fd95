import { hostname } from 'node:os';
import { sameContent } from '../batch/contents';
import { outputName, type ConversionJobInput, type OnExisting } from '../job/types';
import { StorageError } from '../storage/errors';
import type { DestinationPlan } from '../storage/file-store';
import type { Stores } from '../storage/stores';
import type { FailureContext } from './failure-context';
import { soonTaken } from './pauses';

interface JobDestination {
  destination: string;
  sourceName: string;
  output: string;
  onExisting: OnExisting;
  replaces?: ConversionJobInput['replaces'] | undefined;
  /** URI of the source, which must not be overwritten. */
  uri?: string;
  /** Attempt of the download: from 2 on, an earlier one may have written the file. */
  attempt?: number;
  neededBytes?: number;
}

/**
 * Resolves the result's name and proves that it can be written, before anything is charged.
 * @throws StorageError, also the error of `assertSeen`.
 */
export async function planDestination(
  files: Stores,
  job: JobDestination & Uploaded,
  failure: FailureContext,
): Promise<DestinationPlan & { onExisting: OnExisting; replacedStamp?: string | undefined }> {
  assertSeen(files, job, failure);
  const { destination, replaces } = job;
  const replaced = replaces && (await sameContent(files, destination, { content: replaces }));
  const onExisting = replaced ? 'overwrite' : job.onExisting;
  const plan = await files.prepareDestination({
    uri: destination,
    suggestedName: outputName(job.sourceName, job.output),
    onExisting,
    attempt: job.attempt,
    expectedBytes: job.neededBytes,
    source: job.uri,
  });
  return { ...plan, onExisting, ...(replaced && { replacedStamp: replaced.stamp }) };
}

/**
 * Call before replacing a file that may be replaced only because an earlier run wrote it.
 * @throws StorageError DESTINATION_EXISTS if the file has changed since; the next attempt then follows the policy.
 */
export async function assertUnchanged(files: Stores, uri: string, stamp: string | undefined): Promise<void> {
  const now = await files.look(uri);
  if (now.kind === 'none' || (now.kind === 'file' && now.stamp === stamp)) return;
  const message = `Cannot write ${uri}: somebody has changed it while its new version was made.`;
  throw new StorageError({ code: 'DESTINATION_EXISTS', message, uri, retryable: true });
}

interface Uploaded {
  destination: string;
  /** Host of the worker that uploaded. */
  host?: string | undefined;
}

/** This worker's host, if workers on other hosts may not see the destination's folder. */
export function ownHost(files: Stores, uri: string): string | undefined {
  return files.of(uri).isPerHost === true ? hostname() : undefined;
}

/**
 * Call before anything is charged or written.
 * @throws StorageError DESTINATION_NOT_SHARED, with a short retry delay, on another host than the upload's.
 */
export function assertSeen(files: Stores, { destination: uri, host }: Uploaded, failure: FailureContext): void {
  const own = ownHost(files, uri);
  if (own === undefined || host === undefined || own === host) return;
  failure.pauses = soonTaken(failure.pauses);
  throw new StorageError({
    code: 'DESTINATION_NOT_SHARED',
    message: `Cannot write ${uri}: this worker is on ${own}, the source was uploaded on ${host}, and the two may see different folders. The job goes on by itself once a worker on ${host} takes it. If all workers see the same files under the same paths, say so in their configuration: worker.shared_files = "on"`,
    uri,
    retryable: true,
  });
}
