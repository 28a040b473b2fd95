import { defined } from '../../shared/defined';
import type { FileStore } from '../../storage/file-store';
import { endedRow, plannedRow, type EarlierRow } from './earlier-row';
import { type LeftOutRow, readLeftOut, hasEnded, readEndedItems, readItems } from './read-run';
import { listRuns, type BatchRun } from './run-folders';

/** How many older runs are searched: a batch that runs every hour has thousands. */
const maxOlderRuns = 20;

/**
 * What earlier runs of a batch did, by destination. It reads the results of the latest run and its manifest, which also
 * records what was done or left open before. Results that the latest run was to replace are looked up in older runs.
 * Takes about 500 bytes per row.
 */
export class EarlierResults {
  readonly #rows = new Map<string, EarlierRow>();
  #knowsLeftOut = true;

  private constructor(
    private readonly files: FileStore,
    /** The latest run with a manifest. */
    readonly latest: BatchRun | undefined,
    private readonly older: readonly BatchRun[],
  ) {}

  /** @throws DamagedRunError */
  static async read(files: FileStore, batchFolder: string, signal?: AbortSignal): Promise<EarlierResults> {
    const [latest, ...older] = await listRuns(files, batchFolder);
    const results = new EarlierResults(files, latest, older.slice(0, maxOlderRuns));
    if (latest) await results.#readLatest(latest, signal);
    return results;
  }

  find(destination: string): EarlierRow | undefined {
    return this.#rows.get(destination);
  }

  /** Whether only runs before the latest may know the row with this destination. `exists`: there is a file. */
  mayBeKnownFurther(destination: string, exists: boolean): boolean {
    return this.older.length > 0 && (exists || !this.#knowsLeftOut) && !this.#rows.has(destination);
  }

  /**
   * Searches the runs before the latest for destinations that later runs do not know, or whose result they do not know.
   * @throws DamagedRunError
   */
  async lookFurther(wanted: Set<string>, signal?: AbortSignal): Promise<void> {
    for (const run of this.older) {
      if (wanted.size === 0) return;
      await this.#readRun(run, wanted, signal);
    }
  }

  /** Drops the row: the new run has one with this destination. */
  take(destination: string): void {
    this.#rows.delete(destination);
  }

  /** Rows that the new run does not contain and for which something may have been charged. */
  *leftOut(): Generator<LeftOutRow> {
    for (const [destination, row] of this.#rows) {
      if (row.owed || row.startedAs.length > 0) yield { destination, ...withoutStatus(row) };
    }
  }

  async #readLatest(run: BatchRun, signal?: AbortSignal): Promise<void> {
    const isOver = await hasEnded(this.files, run);
    const replaced = new Set<string>();
    const destinations = new Map<number, string>();
    for await (const item of readItems(this.files, run, signal)) {
      destinations.set(item.item, item.destination);
      this.#rows.set(item.destination, plannedRow(item, { isOver }));
      if (item.onExisting === 'overwrite' && !item.done) replaced.add(item.destination);
    }
    for await (const result of readEndedItems(this.files, run, signal)) {
      const destination = destinations.get(result.item);
      const row = destination === undefined ? undefined : this.#rows.get(destination);
      if (destination === undefined || !row) continue;
      const ended = endedRow(row, result);
      this.#rows.set(destination, ended);
      if (ended.delivered) replaced.delete(destination);
    }
    const leftOut = await readLeftOut(this.files, run, signal);
    this.#knowsLeftOut = leftOut !== undefined;
    for await (const { destination, ...row } of leftOut ?? []) this.#rows.set(destination, row);
    await this.lookFurther(replaced, signal);
  }

  async #readRun(run: BatchRun, wanted: Set<string>, signal?: AbortSignal): Promise<void> {
    const isOver = await hasEnded(this.files, run);
    const rows = new Map<number, { destination: string; row: EarlierRow }>();
    for await (const item of readItems(this.files, run, signal)) {
      const { destination } = item;
      if (wanted.has(destination)) rows.set(item.item, { destination, row: plannedRow(item, { isOver }) });
    }
    for await (const result of readEndedItems(this.files, run, signal)) {
      const found = rows.get(result.item);
      if (found) found.row = endedRow(found.row, result);
    }
    for (const { destination, row } of rows.values()) {
      const later = this.#rows.get(destination);
      const { delivered } = row;
      this.#rows.set(destination, later ? { ...later, ...(delivered && { delivered }) } : withoutStatus(row));
      if (delivered) wanted.delete(destination);
    }
  }
}

/** How an older run ended says nothing about the latest. */
function withoutStatus(row: EarlierRow): Omit<EarlierRow, 'status'> {
  return defined({ ...row, status: undefined });
}

/** Twice what a planner reads, so that a run is not removed while a planner reads it. */
export const keptRuns = 2 * (maxOlderRuns + 1);

/**
 * Removes the folders of runs that no planner reads any more, with their results and reports: a batch that runs every
 * hour would collect thousands. The kept runs still know what was converted. Do not call it while the batch runs.
 * @returns how many were removed.
 */
export async function removeOldRuns(files: FileStore, batchFolder: string): Promise<number> {
  const old = (await listRuns(files, batchFolder)).slice(keptRuns);
  for (const { folder } of old) await files.remove(folder);
  return old.length;
}
