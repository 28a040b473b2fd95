import type { ManifestPosition, PassedOver, PlacedItem } from '../shared/batch-activities';
import { batchActivities } from './batch-activities';

const itemsAtATime = 200;

/** The items that still have to be started, read from the manifest as they are needed. */
export class BatchReader {
  /** Why the manifest can't be read any further. */
  failure: unknown;
  /** Before the next item that was not taken. */
  position: ManifestPosition;
  private items: PlacedItem[] = [];
  private readTo: ManifestPosition;
  private isEnd = false;
  private reading: Promise<void> | undefined;

  /** `from`: where an earlier run of the batch came to; without it the whole manifest is checked first. */
  constructor(
    private readonly options: {
      folder: string;
      rows: number;
      from: ManifestPosition | undefined;
      /** `passedOver`: rows that no job is started for; all of them come with the first read. */
      onRead: (passedOver: PassedOver | undefined) => void;
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
  take(): PlacedItem | undefined {
    const entry = this.items.shift();
    if (entry) this.position = { byte: entry.next, item: entry.item.item };
    return entry;
  }

  /** Begins to read on before the items run out. */
  prefetch(): void {
    if (this.reading || this.isEnd || this.failure || this.items.length > itemsAtATime / 2) return;
    this.reading = this.read()
      .catch((error: unknown) => {
        this.failure = error;
        return undefined;
      })
      .then((passedOver) => {
        this.reading = undefined;
        this.options.onRead(passedOver);
      });
  }

  /** Resolves when nothing is being read. */
  async rest(): Promise<void> {
    await this.reading;
  }

  /** Resolves when every row that no job is started for has been told of. */
  async countAll(): Promise<void> {
    if (this.isUnread) this.prefetch();
    await this.reading;
  }

  private get isUnread(): boolean {
    return this.options.from === undefined && this.readTo.byte === 0;
  }

  private async read(): Promise<PassedOver | undefined> {
    const { folder, rows } = this.options;
    const read = await batchActivities['conversion.readBatchItems']({
      folder,
      from: this.readTo,
      limit: itemsAtATime,
      ...(this.isUnread && { checkRows: rows }),
    });
    this.items.push(...read.items);
    this.readTo = read.next;
    this.isEnd = read.isEnd;
    return read.passedOver;
  }
}
