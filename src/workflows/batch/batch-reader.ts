import type { BatchItem } from '../../batch/model/types';
import { firstRead } from '../../batch/model/activities';
import type { ManifestPosition, PlacedItem, ReadBatchItemsResult } from '../../batch/model/activities';
import { fileSteps } from './batch-activities';

/** Reads the manifest's items ahead of their start. */
export class BatchReader {
  failure: unknown;
  /** Position after the last item taken. */
  position: ManifestPosition;
  private items: PlacedItem[] = [];
  private readTo: ManifestPosition;
  private isEnd = false;
  private reading: Promise<void> | undefined;

  /** `from`: where the previous run stopped. `first`: the items that came with the plan. */
  constructor(
    private readonly folder: string,
    private readonly onRead: () => void,
    from: ManifestPosition = firstRead.from,
    first?: ReadBatchItemsResult,
  ) {
    this.position = from;
    this.readTo = from;
    if (first) this.add(first);
  }

  get isExhausted(): boolean {
    return this.isEnd && this.items.length === 0;
  }

  /** Undefined if no item is left, or the next is not read yet. */
  take(): PlacedItem | undefined {
    const entry = this.items.shift();
    if (entry) this.position = { byte: entry.next, item: entry.item.item };
    return entry;
  }

  /** Starts the next read while half of the last one is left. */
  prefetch(): void {
    if (this.reading || this.isEnd || this.failure || this.items.length > firstRead.limit / 2) return;
    this.reading = this.read()
      .catch((error: unknown) => {
        this.failure = error;
      })
      .then(() => {
        this.reading = undefined;
        this.onRead();
      });
  }

  async rest(): Promise<void> {
    await this.reading;
  }

  private async read(): Promise<void> {
    const asked = { folder: this.folder, from: this.readTo, limit: firstRead.limit };
    this.add(await fileSteps['conversion.readBatchItems'](asked));
  }

  private add({ items, next, isEnd }: ReadBatchItemsResult): void {
    this.items.push(...items);
    this.readTo = next;
    this.isEnd = isEnd;
  }
}

/** Rereads manifest rows of items started by an earlier run of the workflow; concurrent requests share one read. */
export class BatchRows {
  private readonly asked = new Map<number, { resolve: (row: BatchItem) => void; reject: (error: unknown) => void }>();
  private reading = false;

  constructor(private readonly folder: string) {}

  get isRepeated(): boolean {
    return !this.folder.endsWith('/run-0001/');
  }

  at(byte: number): Promise<BatchItem> {
    return new Promise((resolve, reject) => {
      this.asked.set(byte, { resolve, reject });
      if (!this.reading) void this.read();
    });
  }

  private async read(): Promise<void> {
    this.reading = true;
    await Promise.resolve();
    while (this.asked.size > 0) {
      const bytes = [...this.asked.keys()];
      try {
        const { items } = await fileSteps['conversion.rereadBatchItems']({ folder: this.folder, bytes });
        for (const [index, row] of items.entries()) this.take(bytes[index])?.resolve(row);
      } catch (error) {
        for (const byte of bytes) this.take(byte)?.reject(error);
      }
    }
    this.reading = false;
  }

  private take(byte: number | undefined) {
    const asker = byte === undefined ? undefined : this.asked.get(byte);
    if (byte !== undefined) this.asked.delete(byte);
    return asker;
  }
}
