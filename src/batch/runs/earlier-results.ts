import type { BatchItemStatus } from '../../shared/batch';
import { KeyTable } from '../plan/key-table';
import { ContentRecords, type DoneRecord } from './content-records';
import { readEndedItems, readItems } from './read-run';
import { listRuns, type BatchRun } from './run-folders';

/** A batch that runs every hour has thousands of runs; what so many of them know nothing of is not looked for further. */
export const maxOlderRuns = 20;

/**
 * What earlier runs of a batch did: its latest run's manifest, where rows that were done before say so, and results. Rows that were to
 * replace the result of an earlier run, and have not, are looked up in the runs before. In some 170 bytes a row.
 */
export class EarlierResults {
  readonly #rows = new KeyTable();
  readonly #records = new ContentRecords();
  #rowCount = 0;

  private constructor(
    /** The latest run that was planned. */
    readonly latest: BatchRun | undefined,
    private readonly older: readonly BatchRun[],
  ) {}

  /** @throws DamagedRunError */
  static async read(batchFolder: string, signal?: AbortSignal): Promise<EarlierResults> {
    const [latest, ...older] = await listRuns(batchFolder);
    const results = new EarlierResults(latest, older.slice(0, maxOlderRuns));
    if (latest) await results.#readOlder(await results.#readRun(latest, undefined, signal), signal);
    return results;
  }

  /** Whether a destination that the latest run did not have may be known from the runs before. */
  get hasOlder(): boolean {
    return this.older.length > 0;
  }

  /**
   * Looks for destinations in the runs before the latest: their rows were left out of it.
   * @throws DamagedRunError
   */
  async lookFurther(destinations: Iterable<string>, signal?: AbortSignal): Promise<void> {
    const wanted = new Set<number>();
    for (const destination of destinations) {
      if (this.#rows.get(destination) === undefined) wanted.add(this.#addRow(destination));
    }
    await this.#readOlder(wanted, signal);
  }

  /** What the file at a destination was made of, the last time that a run wrote it. */
  find(destination: string): DoneRecord | undefined {
    const row = this.#rows.get(destination);
    return row === undefined ? undefined : this.#records.get(row, destination);
  }

  includes(destination: string): boolean {
    return this.#rows.get(destination) !== undefined;
  }

  /** How the row with this destination ended in the latest run; undefined when it has not, or there is none. */
  statusOf(destination: string): BatchItemStatus | undefined {
    const row = this.#rows.get(destination);
    return row === undefined ? undefined : this.#records.statusOf(row);
  }

  async #readOlder(wanted: Set<number>, signal?: AbortSignal): Promise<void> {
    let open = wanted;
    for (const run of this.older) {
      if (open.size === 0) return;
      open = await this.#readRun(run, open, signal);
    }
  }

  /**
   * @param wanted rows of which later runs know nothing; of the latest run all are wanted.
   * @returns rows that an earlier run may know.
   */
  async #readRun(run: BatchRun, wanted: Set<number> | undefined, signal?: AbortSignal): Promise<Set<number>> {
    const open = new Set(wanted);
    const rowOfItem = new RowOfItem();
    for await (const item of readItems(run, signal)) {
      const row = wanted ? this.#rows.get(item.destination) : this.#addRow(item.destination);
      if (row === undefined || wanted?.has(row) === false) continue;
      rowOfItem.set(item.item, row);
      const { output, input, done, destination, onExisting } = item;
      this.#records.setOptions(row, { output, input });
      if (done) this.#records.setContent(row, { ...done, renamed: done.output.uri !== destination });
      if (done) open.delete(row);
      else if (onExisting === 'overwrite') open.add(row);
    }
    for await (const { item, status, source, output } of readEndedItems(run, signal)) {
      const row = rowOfItem.get(item);
      if (row === undefined) continue;
      if (!wanted) this.#records.setStatus(row, status);
      if (status !== 'succeeded' || !source || !output) continue;
      this.#records.setContent(row, { source, output, renamed: this.#rows.get(output.uri) !== row });
      open.delete(row);
    }
    return open;
  }

  #addRow(destination: string): number {
    const row = this.#rowCount;
    this.#rowCount += 1;
    return this.#rows.claim(destination, row) ?? row;
  }
}

/** Four bytes an item. */
class RowOfItem {
  #rows = new Uint32Array(1024);

  set(item: number, row: number): void {
    if (item >= this.#rows.length) {
      const before = this.#rows;
      this.#rows = new Uint32Array(Math.max(item + 1, before.length * 2));
      this.#rows.set(before);
    }
    this.#rows[item] = row + 1;
  }

  get(item: number): number | undefined {
    const row = this.#rows[item] ?? 0;
    return row === 0 ? undefined : row - 1;
  }
}
