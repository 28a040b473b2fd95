import path from 'node:path';
import { makeFolder } from 'temporal-file-conversion/storage';
import { TemporalServerError } from './processes';

/** A lock between processes; it ends with `release()` or with the process, however that ends. */
export interface ProcessLock {
  release(): void;
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
