import type Libsql from 'libsql';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TemporalServerError } from './processes';

/** A lock between processes; it ends with `release()` or with the process, however that ends. */
interface ProcessLock {
  /** Lets others in. A second call changes nothing. */
  release(): void;
}

interface ProcessLockOptions {
  /** Ends the wait; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** `false`: throw `LOCK_HELD` at once instead of waiting. Default `true`. */
  wait?: boolean | undefined;
  /** Called once when the lock is held by another and the wait begins. */
  onWait?: (() => void) | undefined;
}

const retryDelayMs = 50;

/** Keeps the connections from the garbage collector: a collected connection would give up its lock. */
const held = new Set<Libsql.Database>();

/**
 * Waits until no other process (and no other caller in this one) holds `file`, then holds it.
 *
 * An exclusive SQLite transaction stands behind it: the kernel ends it when the process dies, `kill -9` included, so
 * that no stale lock is ever left (docs/decisions/0001-process-lock.md). The file stays and is never written to.
 * Do not open it by other means in this process: closing any descriptor of it would drop the kernel's lock.
 */
export async function acquireProcessLock(file: string, options: ProcessLockOptions = {}): Promise<ProcessLock> {
  const absolute = path.resolve(file);
  options.signal?.throwIfAborted();
  await mkdir(path.dirname(absolute), { recursive: true });
  // Loaded here: a worker's installation may lack it.
  const { default: Database } = await import('libsql');
  let waiting = false;
  for (;;) {
    const lock = tryLock(Database, absolute);
    if (lock !== undefined) return lock;
    if (options.wait === false) {
      throw new TemporalServerError('LOCK_HELD', `Another process holds ${absolute}.`);
    }
    if (!waiting) options.onWait?.();
    waiting = true;
    await sleep(retryDelayMs, undefined, { signal: options.signal });
  }
}

function tryLock(Database: typeof Libsql, file: string): ProcessLock | undefined {
  let connection: Libsql.Database | undefined;
  try {
    connection = new Database(file);
    connection.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    connection?.close();
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') return undefined;
    throw new TemporalServerError('LOCK_UNUSABLE', `${file} cannot be used as a lock; check its folder.`, {
      cause: error,
    });
  }
  const transaction = connection;
  held.add(transaction);
  return {
    release() {
      if (held.delete(transaction)) transaction.close();
    },
  };
}
