import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolder } from 'temporal-file-conversion/storage';
import { TemporalServerError } from './processes';

/** A lock between processes; it ends with `release()` or with the process, however that ends. */
export interface ProcessLock {
  release(): void;
}

const retryDelayMs = 50;

/** Waits until no other process (and no other caller in this one) holds `file`, then holds it. */
export async function acquireProcessLock(file: string): Promise<ProcessLock> {
  for (;;) {
    const lock = await tryProcessLock(file);
    if (lock) return lock;
    await sleep(retryDelayMs);
  }
}

/**
 * Holds `file`; undefined while another process does.
 *
 * An exclusive SQLite transaction stands behind it: the kernel ends it when the process dies, `kill -9` included, so
 * that no stale lock is ever left. The file stays and is never written to.
 * Do not open it by other means in this process: closing any descriptor of it would drop the kernel's lock.
 */
export async function tryProcessLock(file: string): Promise<ProcessLock | undefined> {
  const absolute = path.resolve(file);
  await makeFolder(path.dirname(absolute));
  // Loaded here: a worker's installation may lack SQLite.
  const { tryLockFile } = await import('temporal-file-conversion-service/administration');
  try {
    const release = tryLockFile(absolute);
    return release && { release };
  } catch (error) {
    const problem = `${absolute} cannot be used as a lock; check its folder.`;
    throw new TemporalServerError('LOCK_UNUSABLE', problem, { cause: error });
  }
}
