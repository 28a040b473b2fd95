import type { BatchItem } from '../../shared/batch';
import { batchActivities } from './batch-activities';

/** Rereads manifest rows for items that an earlier run of the workflow started; concurrent requests share one read. */
export class BatchRows {
  private readonly asked = new Map<number, { resolve: (row: BatchItem) => void; reject: (error: unknown) => void }>();
  private reading = false;

  constructor(private readonly folder: string) {}

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
        const { items } = await batchActivities['conversion.rereadBatchItems']({ folder: this.folder, bytes });
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
