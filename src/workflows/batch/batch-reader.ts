import type { BatchItem } from '../../batch/model/types';
import { firstRead } from '../../batch/model/activities';
import type { ManifestPosition, PlacedItem, ReadBatchItemsResult } from '../../batch/model/activities';
import { fileSteps } from './batch-activities';

/** Reads the items that still have to be started from the manifest, as they are needed. */
export class BatchReader {
  failure: unknown;
  /** Position of the next item that was not taken. */
  position: ManifestPosition;
  private items: PlacedItem[] = [];
  private readTo: ManifestPosition;
  private isEnd = false;
  private reading: Promise<void> | undefined;

  /** `from`: where the previous run stopped reading. `first`: what the plan has read. */
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

  /** The next item; undefined when there is none, or when it is not read yet. */
  take(): PlacedItem | undefined {
    const entry = this.items.shift();
    if (entry) this.position = { byte: entry.next, item: entry.item.item };
    return entry;
  }

  /** Starts the next read before the items run out. */
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

  /** Resolves when no read is in flight. */
  async rest(): Promise<void> {
    await this.reading;
  }

  private async read(): Promise<void> {
    const asked = { ...firstRead, folder: this.folder, from: this.readTo };
    this.add(await fileSteps['conversion.readBatchItems'](asked));
  }

  private add({ items, next, isEnd }: ReadBatchItemsResult): void {
    this.items.push(...items);
    this.readTo = next;
    this.isEnd = isEnd;
  }
}

/** Rereads manifest rows for items that an earlier run of the workflow started; concurrent requests share one read. */
export class BatchRows {
  private readonly asked = new Map<number, { resolve: (row: BatchItem) => void; reject: (error: unknown) => void }>();
  private reading = false;

  constructor(private readonly folder: string) {}

  get isRepeated(): boolean {
    return !this.folder.endsWith('/run-0001/');
  }

  /** The row that begins at this byte of the manifest. */
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
