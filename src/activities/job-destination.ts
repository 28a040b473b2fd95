import { hostname } from 'node:os';
import type { NeededRoom } from '../shared/activities';
import type { FolderMarker, OnExisting } from '../shared/job';
import { StorageError } from '../storage/errors';
import type { DestinationPlan } from '../storage/file-store';
import type { Stores } from '../storage/stores';
import type { ActivityAttempt } from './activity-attempt';
import { soonTaken } from './pauses';

interface JobDestination {
  destination: string;
  sourceName: string;
  output: string;
  onExisting: OnExisting;
  /** URI of the source, which must not be overwritten. */
  uri?: string;
  /** Of the download: from 2 on, a lost attempt may have finished the file. */
  attempt?: number;
  room?: NeededRoom;
}

/**
 * Resolves the result's name and proves that it can be written, before anything is spent on it.
 * @throws StorageError, also what `assertShared` throws.
 */
export async function planDestination(
  files: Stores,
  job: JobDestination & Marked,
  attempt: Attempt,
): Promise<DestinationPlan> {
  await assertShared(files, job, attempt);
  const plan = await files.prepareDestination({
    uri: job.destination,
    suggestedName: outputName(job.sourceName, job.output),
    onExisting: job.onExisting,
    attempt: job.attempt,
    expectedBytes: job.room?.bytes,
    source: job.uri,
  });
  if (plan.kind === 'skip') await removeMarker(files, job, attempt);
  return plan;
}

/** Name of a job's result in a folder: the source's name with the target format as its extension. */
export function outputName(sourceName: string, output: string): string {
  const base = sourceName.replace(/\.[^.]*$/, '') || sourceName;
  // `txt-markdown` is the format `txt` in the variant `markdown`.
  return `${base}.${output.split('-', 1)[0] ?? output}`;
}

interface Marked {
  destination: string;
  marker?: FolderMarker | undefined;
  /** An earlier run may have left a marker. */
  mayBeDelivered?: true;
}

type Attempt = Pick<ActivityAttempt, 'run' | 'failure'>;

/**
 * After the upload: leaves a marker in the destination's folder, by which the job's later steps verify that they see
 * the same folder. Undefined where all workers see the same files, and where not even a marker has room: the submit
 * then waits for room, so the upload is not repeated.
 */
export async function leaveMarker(files: Stores, uri: string, { run }: Attempt): Promise<FolderMarker | undefined> {
  const { sharing } = files.of(uri);
  if (!sharing || !run) return undefined;
  try {
    if (!(await sharing.leaveMarker({ uri, jobKey: run.workflowId, runId: run.runId }))) return undefined;
  } catch (error) {
    if (error instanceof StorageError && error.code === 'DESTINATION_FULL') return undefined;
    throw error;
  }
  return { view: sharing.view, runId: run.runId };
}

/**
 * Called before anything is spent or written. A marker that was deleted does not block the upload's own host.
 * @throws StorageError DESTINATION_NOT_SHARED, retried soon, when this worker does not see the upload's folder.
 */
export async function assertShared(files: Stores, job: Marked, { run, failure }: Attempt): Promise<void> {
  if (await isShared(files, job, run)) return;
  failure.pauses = soonTaken(failure.pauses);
  const { destination: uri } = job;
  throw new StorageError({
    code: 'DESTINATION_NOT_SHARED',
    message: `Cannot write ${uri}: the worker on ${hostname()} does not see the folder that the upload's worker saw there. Share the folder between the machines, or run workers on one of them only; the job continues by itself.`,
    uri,
    retryable: true,
  });
}

async function isShared(files: Stores, { destination: uri, marker }: Marked, run: Attempt['run']): Promise<boolean> {
  const { sharing } = files.of(uri);
  if (!sharing || !marker || marker.view === sharing.view) return true;
  const { runId, jobId } = marker;
  if (jobId !== undefined) return sharing.seesMarker({ uri, jobKey: jobId, runId });
  // The run before a reset may have removed its marker.
  if (run?.runId !== runId) return true;
  return sharing.seesMarker({ uri, jobKey: run.workflowId, runId });
}

/** Removes the marker once the job no longer needs it, also one that an earlier run left. Ignores errors. */
export async function removeMarker(
  files: Stores,
  { destination: uri, marker, mayBeDelivered }: Marked,
  { run }: Pick<Attempt, 'run'>,
): Promise<void> {
  const { sharing } = files.of(uri);
  if (!sharing || !run || (!marker && !mayBeDelivered) || marker?.jobId !== undefined) return;
  await sharing.removeMarker({ uri, jobKey: run.workflowId }).catch(() => undefined);
}
