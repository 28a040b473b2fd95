import type { BatchItem } from '../shared/batch';
import type { ManifestPosition, ReadBatchItemsResult } from '../shared/batch-activities';
import { batchActivities } from './batch-activities';

const itemsAtATime = 200;

/** The items that still have to be started, read from the manifest as they are needed. */
export class BatchReader {
  /** Why the manifest can't be read any further. */
  failure: unknown;
  /** Before the next item that was not taken. */
  position: ManifestPosition;
  private items: ReadBatchItemsResult['items'] = [];
  private readTo: ManifestPosition;
  private isEnd = false;
  private reading: Promise<void> | undefined;

  /** `from`: where an earlier run of the batch came to; without it the whole manifest is checked first. */
  constructor(
    private readonly options: {
      folder: string;
      rows: number;
      from: ManifestPosition | undefined;
      /** `done`: rows that were done before the batch began; all of them come with the first read. */
      onRead: (done: number) => void;
    },
  ) {
    this.position = options.from ?? { byte: 0, item: 0 };
    this.readTo = this.position;
  }

  /** Whether no item is left to take, now or later. */
  get isExhausted(): boolean {
    return this.isEnd && this.items.length === 0;
  }

  /** The next item; undefined when there is none, or none yet. */
  take(): BatchItem | undefined {
    const entry = this.items.shift();
    if (entry) this.position = { byte: entry.next, item: entry.item.item };
    return entry?.item;
  }

  /** Begins to read on before the items run out. */
  prefetch(): void {
    if (this.reading || this.isEnd || this.failure || this.items.length > itemsAtATime / 2) return;
    this.reading = this.read()
      .catch((error: unknown) => {
        this.failure = error;
        return 0;
      })
      .then((done) => {
        this.reading = undefined;
        this.options.onRead(done);
      });
  }

  /** Resolves when nothing is being read. */
  async rest(): Promise<void> {
    await this.reading;
  }

  private async read(): Promise<number> {
    const { folder, rows, from } = this.options;
    const isFirst = from === undefined && this.readTo.byte === 0;
    const read = await batchActivities['conversion.readBatchItems']({
      folder,
      from: this.readTo,
      limit: itemsAtATime,
      ...(isFirst && { checkRows: rows }),
    });
    this.items.push(...read.items);
    this.readTo = read.next;
    this.isEnd = read.isEnd;
    return read.done ?? 0;
  }
}
