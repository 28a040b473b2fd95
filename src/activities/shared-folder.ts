import { hostname } from 'node:os';
import type { FolderMarker } from '../shared/job';
import { StorageError } from '../storage/errors';
import type { Stores } from '../storage/stores';
import type { ActivityAttempt } from './activity-attempt';
import { soonTaken } from './pauses';

interface Shared {
  destination: string;
  marker?: FolderMarker | undefined;
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
export async function assertShared(files: Stores, shared: Shared, { run, failure }: Attempt): Promise<void> {
  if (await isShared(files, shared, run)) return;
  failure.pauses = soonTaken(failure.pauses);
  const { destination: uri } = shared;
  throw new StorageError({
    code: 'DESTINATION_NOT_SHARED',
    message: `Cannot write ${uri}: the worker on ${hostname()} does not see the folder that the upload's worker saw there. Share the folder between the machines, or run workers on one of them only; the job goes on by itself.`,
    uri,
    retryable: true,
  });
}

async function isShared(files: Stores, { destination: uri, marker }: Shared, run: Attempt['run']): Promise<boolean> {
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
  { destination: uri, marker, mayBeDelivered }: Shared & { mayBeDelivered?: true },
  { run }: Pick<Attempt, 'run'>,
): Promise<void> {
  const { sharing } = files.of(uri);
  if (!sharing || !run || (!marker && !mayBeDelivered) || marker?.jobId !== undefined) return;
  await sharing.removeMarker({ uri, jobKey: run.workflowId }).catch(() => undefined);
}
