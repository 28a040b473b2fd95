import { fileURLToPath } from 'node:url';
import { Findings } from './findings';
import type { FormatCount, PlannedBatch } from './planned-batch';
import type { SettledRow } from './write-run';

/** Counts the rows of a plan as they come. */
export class PlanCounts {
  rows = 0;
  todo = 0;
  /** Rows that an earlier run may have been charged for, and that are not converted again. */
  kept = 0;
  /** Rows to do whose destination holds something that no run of this batch wrote. */
  readonly existing = new Findings();
  #done = 0;
  #bytes = 0;
  #replaced = 0;
  readonly #formats = new Map<string, FormatCount>();

  add({ item, bytes, exists }: SettledRow): void {
    this.rows += 1;
    if (item.done) {
      this.#done += 1;
      return;
    }
    if (item.kept) {
      this.kept += 1;
      return;
    }
    this.todo += 1;
    this.#bytes += bytes;
    if (item.onExisting === 'overwrite') this.#replaced += 1;
    else if (exists) this.existing.add('DESTINATION_EXISTS', `${fileURLToPath(item.destination)} exists already.`);
    const extension = extensionOf(item.source);
    const { input = extension, output } = item;
    const key = `${extension} ${input} ${output}`;
    const format = this.#formats.get(key) ?? { input, extension, output, rows: 0, bytes: 0 };
    format.rows += 1;
    format.bytes += bytes;
    this.#formats.set(key, format);
  }

  summary(): Pick<PlannedBatch, 'rows' | 'done' | 'kept' | 'todo' | 'bytes' | 'formats' | 'replaced'> {
    const formats = [...this.#formats.values()].sort((one, other) => other.rows - one.rows);
    return {
      rows: this.rows,
      done: this.#done,
      kept: this.kept,
      todo: this.todo,
      bytes: this.#bytes,
      formats,
      replaced: this.#replaced,
    };
  }
}

function extensionOf(uri: string): string {
  return (/\.([^./]+)$/.exec(uri)?.[1] ?? '').toLowerCase();
}
