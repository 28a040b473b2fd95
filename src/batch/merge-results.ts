import type { BatchItem, BatchItemResult, BatchItemStatus } from '../shared/batch';
import type { MergeBatchResultsInput, MergeBatchResultsResult, WriteBatchPartInput } from '../shared/batch-activities';
import { rowOfEarlier } from '../shared/job-outcome';
import { StorageError } from '../storage/errors';
import type { FileStore } from '../storage/file-store';
import { shownPath } from '../storage/file-uri';
import { readLines } from './lines';
import { readManifest } from './manifest-rows';
import { parseBatchItemResult, partUri, RunFileError, runFiles } from './run-files';
import { writeFile, type Writing } from './write-file';

/** Parts follow the manifest's order except for slow jobs, so only a few are in use at a time. */
const partsInMemory = 32;

/**
 * Writes the last part and `results.jsonl`, with exactly one line per row of the manifest, in its order. A row without
 * a result is skipped if it is `done`, failed if it is `kept` or, unless it is skipped, `refused`, and otherwise cancelled, as it never
 * started. Safe to repeat. Memory holds one number per result and a few parts, however large the batch is.
 */
export async function mergeBatchResults(
  files: FileStore,
  { folder, parts, rest }: MergeBatchResultsInput,
  writing: Writing,
): Promise<MergeBatchResultsResult> {
  const lastPart = rest.length === 0 ? parts : parts + 1;
  if (lastPart > parts) await writeBatchPart(files, { folder, part: lastPart, results: rest }, writing);
  const partOf = await indexParts(files, folder, lastPart);
  const counts: Record<BatchItemStatus, number> = { succeeded: 0, failed: 0, skipped: 0, cancelled: 0 };
  const results = folder + runFiles.results;
  await writeFile(files, results, merged(), { writing });
  return { results, counts };

  async function* merged(): AsyncGenerator<string> {
    const recent = new RecentParts(files, folder);
    let used = 0;
    for await (const { row } of readManifest(files, folder, { signal: writing.signal })) {
      const part = partOf.get(row.item);
      const result = part === undefined ? withoutJob(row) : await recent.find(part, row.item);
      if (part !== undefined) used += 1;
      counts[result.status] += 1;
      yield lineOf(result);
    }
    if (used !== partOf.size)
      throw damagedParts(folder, `${partOf.size - used} results belong to no row of the manifest`);
  }
}

async function indexParts(files: FileStore, folder: string, parts: number): Promise<Map<number, number>> {
  const partOf = new Map<number, number>();
  for (let part = 1; part <= parts; part += 1) {
    for (const item of (await readBatchPart(files, folder, part)).keys()) {
      const other = partOf.get(item);
      if (other !== undefined)
        throw damagedParts(folder, `item ${item} has two results, in parts ${other} and ${part}`);
      partOf.set(item, part);
    }
  }
  return partOf;
}

class RecentParts {
  readonly #parts = new Map<number, Map<number, BatchItemResult>>();

  constructor(
    private readonly files: FileStore,
    private readonly folder: string,
  ) {}

  async find(part: number, item: number): Promise<BatchItemResult> {
    const results = this.#parts.get(part) ?? (await readBatchPart(this.files, this.folder, part));
    this.#parts.delete(part);
    this.#parts.set(part, results);
    const [oldest] = this.#parts.keys();
    if (this.#parts.size > partsInMemory && oldest !== undefined) this.#parts.delete(oldest);
    const result = results.get(item);
    if (!result) throw damagedParts(this.folder, `part ${part} changed while it was read`);
    return result;
  }
}

/** Keeps what earlier runs left open. */
function withoutJob({ item, done, kept, refused, earlier }: BatchItem): BatchItemResult {
  if (done) return { item, status: 'skipped', ...done };
  if (kept) return { item, ...kept, kept: true };
  if (refused) {
    const { isSkipped, ...why } = refused;
    return { item, status: isSkipped ? 'skipped' : 'failed', ...why, charge: 'no' };
  }
  return { item, status: 'cancelled', ...(earlier && rowOfEarlier(earlier)) };
}

function damagedParts(folder: string, why: string): RunFileError {
  return new RunFileError(
    'BATCH_PART_DAMAGED',
    `The results in ${folder}${runFiles.parts} can't be merged: ${why}. The folder of a run belongs to one batch; start the batch again.`,
  );
}

/** Writes one part as a whole. Safe to repeat: replaces an existing part. */
export async function writeBatchPart(
  files: FileStore,
  { folder, part, results }: WriteBatchPartInput,
  writing: Writing,
): Promise<void> {
  await writeFile(files, partUri(folder, part), results.map(lineOf), { writing });
}

function lineOf(result: BatchItemResult): string {
  return `${JSON.stringify(result)}\n`;
}

/** The results of one part by item. Throws a RunFileError that names the line. */
async function readBatchPart(files: FileStore, folder: string, part: number): Promise<Map<number, BatchItemResult>> {
  const uri = partUri(folder, part);
  const results = new Map<number, BatchItemResult>();
  try {
    for await (const { number, bytes } of readLines(files.read(uri))) {
      try {
        const result = parseBatchItemResult(bytes);
        results.set(result.item, result);
      } catch (error) {
        const why = `line ${number}: ${error instanceof Error ? error.message : String(error)}`;
        throw damagedPart(uri, why, error);
      }
    }
  } catch (error) {
    if (error instanceof StorageError && error.code === 'SOURCE_NOT_FOUND') throw damagedPart(uri, 'it is gone', error);
    throw error;
  }
  return results;
}

function damagedPart(uri: string, why: string, cause: unknown): RunFileError {
  return new RunFileError(
    'BATCH_PART_DAMAGED',
    `${shownPath(uri)}: ${why}. The jobs are done; their results are in the Temporal UI. Run the batch again to go on with what is left.`,
    { cause },
  );
}
