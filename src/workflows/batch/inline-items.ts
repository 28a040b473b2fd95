import type { BatchItem, InlineItem } from '../../batch/model/types';
import type { BatchItemResult } from '../../batch/model/state';
import type { ManifestPosition, PlacedItem } from '../../batch/model/activities';
import { cutText } from '../../job/job-outcome';
import { boundWarnings, utf8Bytes } from '../../job/warnings';

/** Items from the batch's input, with the interface of `BatchReader`; `byte` is the index of an item. */
export class InlineItems {
  readonly failure = undefined;
  readonly isRepeated = false;
  position: ManifestPosition;
  private readonly rowsOf = new Map<string, number[]>();

  constructor(
    private readonly items: readonly InlineItem[],
    from: ManifestPosition | undefined,
  ) {
    for (const [index, { source }] of items.entries()) {
      this.rowsOf.set(source, [...(this.rowsOf.get(source) ?? []), index + 1]);
    }
    this.position = from ?? { byte: 0, item: 0 };
  }

  get isExhausted(): boolean {
    return this.position.byte >= this.items.length;
  }

  take(): PlacedItem | undefined {
    if (this.isExhausted) return undefined;
    const { byte } = this.position;
    this.position = { byte: byte + 1, item: byte + 1 };
    return { item: this.rowAt(byte), byte, next: byte + 1 };
  }

  at(byte: number): Promise<BatchItem> {
    return Promise.resolve(this.rowAt(byte));
  }

  prefetch(): void {
    // All items are there.
  }

  async rest(): Promise<void> {
    // Nothing is read.
  }

  private rowAt(index: number): BatchItem {
    const item = this.items[index];
    if (!item) throw new Error(`There is no item ${index + 1}.`);
    const [sourceGroup, ...others] = this.rowsOf.get(item.source) ?? [];
    return { item: index + 1, ...item, ...(sourceGroup !== undefined && others.length > 0 && { sourceGroup }) };
  }
}

/**
 * Keeps 500 results, the items and the rest of the carried state below Temporal's limit of 2 MB. The output's URI is not counted: it
 * repeats the item.
 */
const bytesAResult = 1_500;
const charactersAMessage = 200;
const bytesOfWarnings = 300;

/** Results returned in the batch's own result, with the interface of `BatchResults`. */
export class InlineResults {
  readonly failure = undefined;
  readonly isBehind = false;
  readonly parts = 0;

  constructor(readonly pending: BatchItemResult[]) {}

  add(result: BatchItemResult): void {
    this.pending.push(bounded(result));
  }

  async rest(): Promise<void> {
    // Nothing is written.
  }
}

/** One result for each item, in the order of the items; items without a result never started. */
export function allResults(results: readonly BatchItemResult[], items: number): BatchItemResult[] {
  const known = new Map(results.map((result) => [result.item, result]));
  return Array.from({ length: items }, (_, index) => {
    const item = index + 1;
    return known.get(item) ?? { item, status: 'cancelled' };
  });
}

function bounded(result: BatchItemResult): BatchItemResult {
  const { message, warnings, output } = result;
  if (utf8Bytes(JSON.stringify(result)) - utf8Bytes(output?.uri ?? '') <= bytesAResult) return result;
  return {
    ...result,
    ...(message !== undefined && { message: cutText(message, charactersAMessage) }),
    ...(warnings && { warnings: boundWarnings(warnings, { maxBytes: bytesOfWarnings }) }),
  };
}
