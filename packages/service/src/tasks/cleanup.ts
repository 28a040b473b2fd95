import { setImmediate as breathe } from 'node:timers/promises';
import type { Log } from 'temporal-file-conversion/internal/shared/log';
import type { FileStore, StoredFile } from '../files/file-store';
import { messageOf } from '../shared/caught';
import type { TaskStore } from './task-store';

/** A request that was admitted before a file expired may not have opened it yet. */
const expiryGraceMs = 60_000;

/** An upload has its id for a moment before its task is in the database. */
const orphanGraceMs = 10 * 60_000;

interface CleanupOptions {
  files: FileStore;
  store: TaskStore;
  intervalMs: number;
  taskRetentionMs: number;
  log: Log;
}

/**
 * Removes what nobody can ask for any more: expired uploads and outputs, old tasks, and files without a task, left by a process that
 * died at the wrong moment. A file that a conversion or a download still needs stays.
 */
export class Cleanup {
  readonly #options: CleanupOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: CleanupOptions) {
    this.#options = options;
  }

  /** Cleans up once before anything else runs, and then periodically. */
  async start(): Promise<void> {
    await this.#clean({ orphanGraceMs: 0 });
    this.#timer = setInterval(() => {
      this.#running = this.#running.then(() => this.#cleanAgain());
    }, this.#options.intervalMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  async #cleanAgain(): Promise<void> {
    try {
      await this.#clean({ orphanGraceMs });
    } catch (error) {
      this.#options.log(`cleaning up failed, tries again: ${messageOf(error)}`);
    }
  }

  async #clean(graces: { orphanGraceMs: number }): Promise<void> {
    const { files, store, taskRetentionMs, log } = this.#options;
    const now = Date.now();
    let removedFiles = 0;
    for await (const stored of files.listUnused()) {
      if (this.#stopped) return;
      if (!this.#isObsolete(stored, { now, ...graces })) continue;
      await files.discard(stored.file);
      removedFiles += 1;
    }
    let removedTasks = 0;
    for (let removed = 1; removed > 0 && !this.#stopped;) {
      removed = store.deleteCompletedBefore(now - taskRetentionMs, now - expiryGraceMs);
      removedTasks += removed;
      await breathe();
    }
    if (removedFiles + removedTasks > 0) log(`cleaned up: ${removedFiles} file(s), ${removedTasks} old task(s)`);
  }

  #isObsolete({ id, modifiedAt }: StoredFile, { now, orphanGraceMs }: { now: number; orphanGraceMs: number }): boolean {
    // This process's own unfinished files are in use, and not listed.
    if (id === undefined) return true;
    const task = this.#options.store.findAnywhere(id);
    if (!task) return modifiedAt + orphanGraceMs <= now;
    if (task.expiresAt === null || task.expiresAt + expiryGraceMs > now) return false;
    return !this.#options.store.isNeeded(id);
  }
}
