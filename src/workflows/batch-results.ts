import type { BatchItemResult } from '../shared/batch';
import { batchActivities } from './batch-activities';

const resultsAPart = 200;

/** Results on their way to the part files, a part at a time. */
export class BatchResults {
  /** Why they can't be written. */
  failure: Error | undefined;
  private writing: Promise<void> | undefined;

  constructor(
    private readonly folder: string,
    readonly pending: BatchItemResult[],
    /** Parts written, or being written. */
    public parts: number,
    private readonly onWritten: () => void,
  ) {}

  /** Whether writing can't keep up: no more jobs should be started, since what is not written is held in the workflow. */
  get isBehind(): boolean {
    return this.pending.length >= 2 * resultsAPart;
  }

  add(result: BatchItemResult): void {
    this.pending.push(result);
    if (this.pending.length >= resultsAPart) this.write();
  }

  /** Resolves when fewer than a part are left. */
  async rest(): Promise<void> {
    for (;;) {
      await this.writing;
      if (this.failure) throw this.failure;
      if (this.pending.length < resultsAPart) return;
      this.write();
    }
  }

  private write(): void {
    if (this.writing || this.failure) return;
    this.parts += 1;
    const input = { folder: this.folder, part: this.parts, results: this.pending.splice(0, resultsAPart) };
    this.writing = batchActivities['conversion.writeBatchPart'](input)
      .catch((error: unknown) => {
        this.failure = error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => {
        this.writing = undefined;
        if (this.pending.length >= resultsAPart) this.write();
        this.onWritten();
      });
  }
}
