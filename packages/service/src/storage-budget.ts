import { statfs } from 'node:fs/promises';
import { outOfSpaceMessage } from './out-of-space';
import { TaskError } from './task-error';

interface BudgetOptions {
  /** Where the files lie. */
  folder: string;
  maxStoredBytes: number;
  minFreeBytes: number;
}

/**
 * How many bytes the files take, by path, and whether there is room for more. The document has no code for a full service:
 * INTERNAL_SERVER_ERROR is the one after which clients try again later, and later there is room, because files expire.
 */
export class StorageBudget {
  readonly #options: BudgetOptions;
  readonly #bytes = new Map<string, number>();
  #total = 0;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  get totalBytes(): number {
    return this.#total;
  }

  set(file: string, bytes: number): void {
    this.#total += bytes - (this.#bytes.get(file) ?? 0);
    this.#bytes.set(file, bytes);
  }

  /** Counts bytes that are about to be written; throws when they are too many. */
  grow(file: string, bytes: number): void {
    this.#requireUnder(this.#total + bytes);
    this.set(file, (this.#bytes.get(file) ?? 0) + bytes);
  }

  delete(file: string): void {
    this.#total -= this.#bytes.get(file) ?? 0;
    this.#bytes.delete(file);
  }

  rename(from: string, to: string): void {
    const bytes = this.#bytes.get(from) ?? 0;
    this.delete(from);
    this.set(to, bytes);
  }

  /** Throws unless so many bytes more have room, in the budget and on the disk. */
  async requireRoom(bytes: number): Promise<void> {
    this.#requireUnder(this.#total + bytes);
    const { folder, minFreeBytes } = this.#options;
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize - bytes < minFreeBytes) throw outOfSpace();
  }

  #requireUnder(total: number): void {
    if (total > this.#options.maxStoredBytes) throw outOfSpace();
  }
}

export function outOfSpace(): TaskError {
  return new TaskError('INTERNAL_SERVER_ERROR', { message: outOfSpaceMessage });
}
