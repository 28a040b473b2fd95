import { setImmediate as breathe } from 'node:timers/promises';
import type { Log } from 'temporal-file-conversion/messages';
import type { ServiceFiles, KeptFile } from '../files/file-store';
import { messageOf } from '../shared/caught';
import type { ServiceLimits } from '../shared/limits';
import type { TaskStore } from './task-store';

/** A request that was admitted before the expiry may not have opened the file yet. */
const expiryGraceMs = 60_000;

/** An upload has its final name for a moment before its task is in the database. */
const orphanGraceMs = 10 * 60_000;

/**
 * Removes what nobody can ask for any more: expired uploads and outputs, old tasks, and files without a task, left by a crash. Keeps a
 * file that a conversion or a download still needs. Cleans up once before anything else runs, and then periodically until the returned
 * function is called.
 */
export async function startCleanup({
  files,
  store,
  limits,
  log,
}: {
  files: ServiceFiles;
  store: TaskStore;
  limits: Pick<ServiceLimits, 'cleanupIntervalMs' | 'taskRetentionMs'>;
  log: Log;
}): Promise<() => Promise<void>> {
  let stopped = false;
  await clean(0);
  let running = Promise.resolve();
  const timer = setInterval(() => {
    running = running
      .then(() => clean(orphanGraceMs))
      .catch((error: unknown) => log(`cleaning up failed, tries again: ${messageOf(error)}`));
  }, limits.cleanupIntervalMs).unref();
  return async () => {
    stopped = true;
    clearInterval(timer);
    await running;
  };

  async function clean(graceMs: number): Promise<void> {
    const now = Date.now();
    let removedFiles = 0;
    for await (const stored of files.listUnused()) {
      if (stopped) return;
      if (!isObsolete(stored, now, graceMs)) continue;
      await files.discard(stored.file);
      removedFiles += 1;
    }
    let removedTasks = 0;
    for (let removed = 1; removed > 0 && !stopped;) {
      removed = store.deleteCompletedBefore(now - limits.taskRetentionMs, now - expiryGraceMs);
      removedTasks += removed;
      await breathe();
    }
    if (removedFiles + removedTasks > 0) log(`cleaned up: ${removedFiles} file(s), ${removedTasks} old task(s)`);
  }

  function isObsolete({ id, modifiedAt }: KeptFile, now: number, graceMs: number): boolean {
    // A leftover: unfinished files of this process are in use, and not listed.
    if (id === undefined) return true;
    const task = store.findAnywhere(id);
    if (!task) return modifiedAt + graceMs <= now;
    if (task.expiresAt === null || task.expiresAt + expiryGraceMs > now) return false;
    return !store.isNeeded(id);
  }
}
