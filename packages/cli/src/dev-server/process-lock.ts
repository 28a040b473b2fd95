import path from 'node:path';
import { shellWord } from 'temporal-file-conversion/messages';
import { makeFolder } from 'temporal-file-conversion/storage';
import { TemporalServerError } from './processes';

/** A lock between processes; held until `release()` or until the process ends in any way. */
export interface ProcessLock {
  release(): void;
}

/**
 * Locks `file`; undefined while another process holds the lock.
 *
 * The lock is an exclusive SQLite transaction: the kernel ends it when the process dies, even by `kill -9`, so that no stale lock
 * is left. The file stays and is never written to.
 * Don't open it by other means in this process: closing any of its descriptors would drop the kernel's lock.
 */
export async function tryProcessLock(file: string): Promise<ProcessLock | undefined> {
  const absolute = path.resolve(file);
  await makeFolder(path.dirname(absolute));
  // Lazy: a worker's installation may lack SQLite.
  const { tryLockFile } = await import('temporal-file-conversion-service/administration');
  try {
    const release = tryLockFile(absolute);
    return release && { release };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const problem = `${absolute} cannot be used as a lock (${reason}). If its folder can be written to, remove the file: rm ${shellWord(absolute)}`;
    throw new TemporalServerError('LOCK_UNUSABLE', problem, { cause: error });
  }
}
