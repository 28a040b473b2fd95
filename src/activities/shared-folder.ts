import { hostname } from 'node:os';
import type { FolderMarker } from '../shared/activities';
import { StorageError } from '../storage/errors';
import type { FileStore } from '../storage/file-store';
import type { ActivityAttempt } from './activity-attempt';
import { soonTaken } from './retry-pauses';

interface Shared {
  destination: string;
  marker?: FolderMarker | undefined;
}

type Attempt = Pick<ActivityAttempt, 'run' | 'failure'>;

/**
 * After the upload: whoever takes the job's later steps must see this folder. Answers nothing where all workers see the same
 * files, and where there is no room for one more name: the submit waits for room, and the upload is not repeated for it.
 */
export async function leaveMarker(
  { sharing }: FileStore,
  uri: string,
  { run }: Attempt,
): Promise<FolderMarker | undefined> {
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
 * Before anything is spent or written. A marker that is gone, because somebody has removed it, holds up nobody on the machine of
 * the upload.
 * @throws StorageError DESTINATION_NOT_SHARED when this worker does not see the folder of the upload; it is to be retried soon.
 */
export async function assertShared(files: FileStore, shared: Shared, { run, failure }: Attempt): Promise<void> {
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

async function isShared(
  { sharing }: FileStore,
  { destination: uri, marker }: Shared,
  run: Attempt['run'],
): Promise<boolean> {
  if (!sharing || !marker || marker.view === sharing.view) return true;
  // The run before a reset may have taken its marker away.
  if (run?.runId !== marker.runId) return true;
  return sharing.seesMarker({ uri, jobKey: run.workflowId, runId: run.runId });
}

/**
 * When the job needs it no longer. By then there is nothing that it could fail. A run that uploaded nothing, since an earlier one was accepted,
 * takes away what that one may have left.
 */
export async function removeMarker(
  { sharing }: FileStore,
  { destination: uri, marker, mayBeDelivered }: Shared & { mayBeDelivered?: true },
  { run }: Pick<Attempt, 'run'>,
): Promise<void> {
  if (!sharing || !run || (!marker && !mayBeDelivered)) return;
  await sharing.removeMarker({ uri, jobKey: run.workflowId }).catch(() => undefined);
}
