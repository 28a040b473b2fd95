import { hash } from 'node:crypto';
import type { BatchItemStatus } from '../../shared/batch';
import type { OutputFile, SourceContent } from '../../shared/job';
import { lastSegment } from '../../shared/job';

const recordsPerChunk = 4096;
/** Where a record holds what, in bytes. */
const at = {
  options: 0,
  stamp: 16,
  sourceSha256: 32,
  outputSha256: 64,
  sourceBytes: 96,
  outputBytes: 104,
  hasContent: 112,
  status: 113,
};
const recordBytes = 120;
const hashBytes = 16;
const statuses: readonly BatchItemStatus[] = ['succeeded', 'failed', 'skipped', 'cancelled'];

/** What a conversion was asked for; results of other options are not the same. */
export interface ConversionOptions {
  output: string;
  input?: string | undefined;
}

/** A conversion that was done. */
export interface DoneRecord {
  /** Whether it was asked for the same. */
  hasOptions(options: ConversionOptions): boolean;
  /** Whether the source had this stamp then. */
  hasStamp(stamp: string): boolean;
  /** Without the stamp, of which only a hash is kept. */
  source: Pick<SourceContent, 'bytes' | 'sha256'>;
  output: OutputFile;
}

/** What was converted to what, and how it ended, in 120 bytes a row, by the row's number from 0. */
export class ContentRecords {
  readonly #chunks: Buffer[] = [];
  /** Of results that did not get the name that was asked for. */
  readonly #renamed = new Map<number, string>();

  setOptions(row: number, options: ConversionOptions): void {
    hashOptions(options).copy(this.#record(row), at.options);
  }

  /** @param output its URI is that of the destination, unless `renamed`. */
  setContent(
    row: number,
    { source, output, renamed }: { source: SourceContent; output: OutputFile; renamed: boolean },
  ): void {
    const record = this.#record(row);
    if (source.stamp === undefined) record.fill(0, at.stamp, at.stamp + hashBytes);
    else hashText(source.stamp).copy(record, at.stamp);
    record.write(source.sha256, at.sourceSha256, 32, 'hex');
    record.write(output.sha256, at.outputSha256, 32, 'hex');
    record.writeDoubleLE(source.bytes, at.sourceBytes);
    record.writeDoubleLE(output.bytes, at.outputBytes);
    record[at.hasContent] = 1;
    if (renamed) this.#renamed.set(row, output.uri);
    else this.#renamed.delete(row);
  }

  hasContent(row: number): boolean {
    return this.#record(row)[at.hasContent] === 1;
  }

  setStatus(row: number, status: BatchItemStatus): void {
    this.#record(row)[at.status] = statuses.indexOf(status) + 1;
  }

  statusOf(row: number): BatchItemStatus | undefined {
    return statuses[(this.#record(row)[at.status] ?? 0) - 1];
  }

  get(row: number, destination: string): DoneRecord | undefined {
    if (!this.hasContent(row)) return undefined;
    const record = this.#record(row);
    const slice = (from: number, length: number) => record.subarray(from, from + length);
    const uri = this.#renamed.get(row) ?? destination;
    return {
      hasOptions: (options) => hashOptions(options).equals(slice(at.options, hashBytes)),
      hasStamp: (stamp) => hashText(stamp).equals(slice(at.stamp, hashBytes)),
      source: { bytes: record.readDoubleLE(at.sourceBytes), sha256: slice(at.sourceSha256, 32).toString('hex') },
      output: {
        uri,
        name: lastSegment(uri),
        bytes: record.readDoubleLE(at.outputBytes),
        sha256: slice(at.outputSha256, 32).toString('hex'),
      },
    };
  }

  #record(row: number): Buffer {
    const index = Math.floor(row / recordsPerChunk);
    while (this.#chunks.length <= index) this.#chunks.push(Buffer.alloc(recordsPerChunk * recordBytes));
    const start = (row % recordsPerChunk) * recordBytes;
    return (this.#chunks[index] ?? Buffer.alloc(0)).subarray(start, start + recordBytes);
  }
}

function hashOptions({ output, input }: ConversionOptions): Buffer {
  return hashText(JSON.stringify([output, input ?? null]));
}

function hashText(text: string): Buffer {
  return hash('sha256', text, 'buffer').subarray(0, hashBytes);
}
