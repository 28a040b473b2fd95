import { fileURLToPath } from 'node:url';
import type { BatchItem } from '../../shared/batch';
import { Findings } from './findings';
import type { FormatCount, PlannedBatch, RefusedCount } from './planned-batch';
import { extensionOf } from './refuse-row';

export interface SettledRow {
  item: Omit<BatchItem, 'item'>;
  /** Size of the source. */
  bytes: number;
  /** Something already exists at the destination. */
  exists: boolean;
}

export class PlanCounts {
  rows = 0;
  todo = 0;
  /** Rows that an earlier run may have been charged for and that are not converted again. */
  kept = 0;
  /** Rows to do whose destination holds something that no run of this batch wrote. */
  readonly existing = new Findings();
  #done = 0;
  #bytes = 0;
  #replaced = 0;
  readonly #refused = new Map<string, RefusedCount>();
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
    const extension = extensionOf(item.source);
    const { input = extension, output, refused: refusal } = item;
    const key = `${extension} ${input} ${output}`;
    const kind = { input, extension, output, rows: 0 };
    if (refusal) {
      const refused = this.#refused.get(key) ?? { ...kind, refusal };
      refused.rows += 1;
      this.#refused.set(key, refused);
      return;
    }
    this.todo += 1;
    this.#bytes += bytes;
    if (item.onExisting === 'overwrite') this.#replaced += 1;
    else if (exists) this.existing.add('DESTINATION_EXISTS', `${fileURLToPath(item.destination)} exists already.`);
    const format = this.#formats.get(key) ?? { ...kind, bytes: 0 };
    format.rows += 1;
    format.bytes += bytes;
    this.#formats.set(key, format);
  }

  summary(): Pick<PlannedBatch, 'rows' | 'done' | 'kept' | 'refused' | 'todo' | 'bytes' | 'formats' | 'replaced'> {
    return {
      rows: this.rows,
      done: this.#done,
      kept: this.kept,
      refused: mostFrequentFirst(this.#refused),
      todo: this.todo,
      bytes: this.#bytes,
      formats: mostFrequentFirst(this.#formats),
      replaced: this.#replaced,
    };
  }
}

function mostFrequentFirst<Count extends { rows: number }>(counts: ReadonlyMap<string, Count>): Count[] {
  return [...counts.values()].sort((one, other) => other.rows - one.rows);
}
