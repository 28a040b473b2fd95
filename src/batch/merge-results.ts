import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { BatchItem, BatchItemResult, BatchItemStatus } from '../shared/batch';
import type { MergeBatchResultsInput, MergeBatchResultsResult, WriteBatchPartInput } from '../shared/batch-activities';
import { rowOfEarlier } from '../shared/job-outcome';
import { systemErrorCode } from '../shared/system-error';
import { toPath } from '../storage/file-uri';
import { writeLocalFile } from '../storage/write';
import { readLines } from './lines';
import { readManifest } from './manifest-rows';
import { parseBatchItemResult, RunFileError, runFiles } from './run-files';

/** Parts follow the manifest's order except for slow jobs, so only a few are in use at a time. */
const partsInMemory = 32;
const chunkCharacters = 64 * 1024;

/**
 * Writes the last part and `results.jsonl`, with exactly one line per row of the manifest, in its order. A row without
 * a result is skipped if it is `done`, failed if it is `kept` or `refused`, and otherwise cancelled, as it never
 * started. Safe to repeat. Memory holds one number per result and a few parts, however large the batch is.
 */
export async function mergeBatchResults(
  { folder, parts, rest }: MergeBatchResultsInput,
  writing: Writing,
): Promise<MergeBatchResultsResult> {
  const lastPart = rest.length === 0 ? parts : parts + 1;
  if (lastPart > parts) await writeBatchPart({ folder, part: lastPart, results: rest }, writing);
  const partOf = await indexParts(folder, lastPart);
  const counts: Record<BatchItemStatus, number> = { succeeded: 0, failed: 0, skipped: 0, cancelled: 0 };
  const results = new URL(runFiles.results, folder).href;
  await writeLocalFile({ ...writing, uri: results, body: merged(), onExisting: 'overwrite' });
  return { results, counts };

  async function* merged(): AsyncGenerator<Buffer> {
    const recent = new RecentParts(folder);
    let used = 0;
    let text = '';
    for await (const { row } of readManifest(folder, undefined, writing.signal)) {
      const part = partOf.get(row.item);
      const result = part === undefined ? withoutJob(row) : await recent.find(part, row.item);
      if (part !== undefined) used += 1;
      counts[result.status] += 1;
      text += `${JSON.stringify(result)}\n`;
      if (text.length >= chunkCharacters) {
        yield Buffer.from(text);
        text = '';
      }
    }
    if (used !== partOf.size)
      throw damagedParts(folder, `${partOf.size - used} results belong to no row of the manifest`);
    yield Buffer.from(text);
  }
}

async function indexParts(folder: string, parts: number): Promise<Map<number, number>> {
  const partOf = new Map<number, number>();
  for (let part = 1; part <= parts; part += 1) {
    for (const item of (await readBatchPart(folder, part)).keys()) {
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

  constructor(private readonly folder: string) {}

  async find(part: number, item: number): Promise<BatchItemResult> {
    const results = this.#parts.get(part) ?? (await readBatchPart(this.folder, part));
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
  if (refused) return { item, status: 'failed', ...refused, charge: 'no' };
  return { item, status: 'cancelled', ...(earlier && rowOfEarlier(earlier)) };
}

function damagedParts(folder: string, why: string): RunFileError {
  return new RunFileError(
    'BATCH_PART_DAMAGED',
    `The results in ${folder}${runFiles.parts} can't be merged: ${why}. The folder of a run belongs to one batch; start the batch again.`,
  );
}

/** The writer's identity, as in `FileStore.writeDestination`. */
export interface Writing {
  jobKey: string;
  attempt: number;
  signal?: AbortSignal;
}

/** Writes one part as a whole. Safe to repeat: replaces an existing part. */
export async function writeBatchPart({ folder, part, results }: WriteBatchPartInput, writing: Writing): Promise<void> {
  const lines = results.map((result) => `${JSON.stringify(result)}\n`);
  await writeLocalFile({
    ...writing,
    uri: partUri(folder, part),
    body: Readable.from([lines.join('')]),
    onExisting: 'overwrite',
  });
}

/** The results of one part by item. Throws a RunFileError that names the line. */
async function readBatchPart(folder: string, part: number): Promise<Map<number, BatchItemResult>> {
  const filePath = toPath(partUri(folder, part));
  const results = new Map<number, BatchItemResult>();
  let line = 0;
  try {
    for await (const { number, bytes } of readLines(createReadStream(filePath))) {
      line = number;
      const result = parseBatchItemResult(bytes);
      results.set(result.item, result);
    }
  } catch (error) {
    const isMissing = systemErrorCode(error) === 'ENOENT';
    if (systemErrorCode(error) !== undefined && !isMissing) throw error;
    const why = isMissing ? 'it is gone' : `line ${line}: ${error instanceof Error ? error.message : String(error)}`;
    throw new RunFileError(
      'BATCH_PART_DAMAGED',
      `${filePath}: ${why}. The jobs are done; their results are in the Temporal UI. Run the batch again to go on with what is left.`,
      { cause: error },
    );
  }
  return results;
}

function partUri(folder: string, part: number): string {
  return new URL(`${runFiles.parts}/${String(part).padStart(6, '0')}.jsonl`, folder).href;
}
