import type { BatchItemResult } from '../../batch/model/state';
import { fileSteps } from './batch-activities';

const resultsAPart = 200;
/** Warnings and paths can be long, and Temporal accepts 2 MiB per payload, so a part may hold fewer results. */
const charactersAPart = 400_000;

export class BatchResults {
  failure: Error | undefined;
  private writing: Promise<void> | undefined;
  private pendingCharacters: number;

  constructor(
    private readonly folder: string,
    readonly pending: BatchItemResult[],
    /** Including the part being written. */
    public parts: number,
    private readonly onWritten: () => void,
  ) {
    this.pendingCharacters = charactersOf(pending);
  }

  /** Unwritten results are held in the workflow, so the batch starts no jobs while this is true. */
  get isBehind(): boolean {
    return this.pending.length >= 2 * resultsAPart || this.pendingCharacters >= 2 * charactersAPart;
  }

  add(result: BatchItemResult): void {
    this.pending.push(result);
    this.pendingCharacters += JSON.stringify(result).length;
    if (this.isPart) this.write();
  }

  /** Writes pending results at once, even less than a part, unless a part is being written; then waits for that one. */
  async flush(): Promise<void> {
    if (this.pending.length > 0) this.write();
    await this.writing;
    if (this.failure) throw this.failure;
  }

  private get isPart(): boolean {
    return this.pending.length >= resultsAPart || this.pendingCharacters >= charactersAPart;
  }

  /** Resolves when less than one part is left unwritten. */
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
    this.writing = fileSteps['conversion.writeBatchPart'](input)
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
