import type { BatchItemResult } from '../shared/batch';
import { batchActivities } from './batch-activities';

const resultsAPart = 200;
/** A part may hold fewer: what the service warns of, and names, can be long, and Temporal takes 2 MiB at a time. */
const charactersAPart = 400_000;

/** Results on their way to the part files, a part at a time. */
export class BatchResults {
  /** Why they can't be written. */
  failure: Error | undefined;
  private writing: Promise<void> | undefined;
  private pendingCharacters: number;

  constructor(
    private readonly folder: string,
    readonly pending: BatchItemResult[],
    /** Parts written, or being written. */
    public parts: number,
    private readonly onWritten: () => void,
  ) {
    this.pendingCharacters = charactersOf(pending);
  }

  /** Whether writing can't keep up: no more jobs should be started, since what is not written is held in the workflow. */
  get isBehind(): boolean {
    return this.pending.length >= 2 * resultsAPart || this.pendingCharacters >= 2 * charactersAPart;
  }

  add(result: BatchItemResult): void {
    this.pending.push(result);
    this.pendingCharacters += JSON.stringify(result).length;
    if (this.isPart) this.write();
  }

  /** Whether there is enough for one. */
  private get isPart(): boolean {
    return this.pending.length >= resultsAPart || this.pendingCharacters >= charactersAPart;
  }

  /** Resolves when fewer than a part are left. */
  async rest(): Promise<void> {
    for (;;) {
      await this.writing;
      if (this.failure) throw this.failure;
      if (!this.isPart) return;
      this.write();
    }
  }

  private write(): void {
    if (this.writing || this.failure) return;
    this.parts += 1;
    const input = { folder: this.folder, part: this.parts, results: this.takePart() };
    this.writing = batchActivities['conversion.writeBatchPart'](input)
      .catch((error: unknown) => {
        this.failure = error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => {
        this.writing = undefined;
        if (this.isPart) this.write();
        this.onWritten();
      });
  }

  private takePart(): BatchItemResult[] {
    let characters = 0;
    const isBeyond = (result: BatchItemResult) => (characters += JSON.stringify(result).length) > charactersAPart;
    const end = this.pending.findIndex((result, index) => index > 0 && (index >= resultsAPart || isBeyond(result)));
    const part = this.pending.splice(0, end < 0 ? this.pending.length : end);
    this.pendingCharacters = charactersOf(this.pending);
    return part;
  }
}

function charactersOf(results: readonly BatchItemResult[]): number {
  return results.reduce((sum, result) => sum + JSON.stringify(result).length, 0);
}
