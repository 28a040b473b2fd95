import type { BatchItem, BatchItemResult, BatchItemStatus } from '../shared/batch';
import type {
  MergeBatchResultsInput,
  MergeBatchResultsResult,
  ReadBatchItemsInput,
  ReadBatchItemsResult,
  RereadBatchItemsInput,
  RereadBatchItemsResult,
  WriteBatchPartInput,
} from '../shared/batch-activities';
import { rowOfEarlier } from '../shared/job-outcome';
import { Spending } from '../shared/spending';
import type { FileStore } from '../storage/file-store';
import { writeFile, type Writing } from './contents';
import { addToLedger } from './ledger';
import { jsonLine } from './lines';
import { partUri, RunFileError, runFiles } from './run-files';
import { readItems, readPart, readPlacedItems } from './run-folders';

/** Size of an activity result, plus at most one more row: Temporal accepts 2 MiB and warns from 512 KiB. */
const maxAnswerBytes = 384 * 1024;

/** Reads the next `limit` rows to run; fewer at the manifest's end or if the result gets too large. Safe to repeat. */
export async function readBatchItems(
  files: FileStore,
  { folder, from, limit }: ReadBatchItemsInput,
  signal?: AbortSignal,
): Promise<ReadBatchItemsResult> {
  const items: ReadBatchItemsResult['items'] = [];
  let next = from;
  let bytes = 0;
  const placed = readPlacedItems(files, folder, { from: from.byte, after: from.item, signal });
  for await (const { record: item, start: byte, next: end } of placed) {
    if (!isPassedOver(item)) {
      if (items.length >= limit || bytes >= maxAnswerBytes) return { items, next, isEnd: false };
      items.push({ item, byte, next: end });
      bytes += end - byte;
    }
    next = { byte: end, item: item.item };
  }
  return { items, next, isEnd: true };
}

function isPassedOver({ done, kept, refused }: BatchItem): boolean {
  return (done ?? kept ?? refused) !== undefined;
}

/** Reads rows again by their byte offsets. Safe to repeat. */
export async function rereadBatchItems(
  files: FileStore,
  { folder, bytes }: RereadBatchItemsInput,
  signal?: AbortSignal,
): Promise<RereadBatchItemsResult> {
  const items: BatchItem[] = [];
  let size = 0;
  for (const byte of bytes) {
    if (size >= maxAnswerBytes) break;
    for await (const { record, next } of readPlacedItems(files, folder, { from: byte, signal })) {
      items.push(record);
      size += next - byte;
      break;
    }
  }
  return { items };
}

/** Parts follow the manifest's order except for slow jobs, so only a few are in use at a time. */
const partsInMemory = 32;
/** Folders of results from which abandoned temporary files are removed. */
const mostSwept = 1_000;

/**
 * Writes the last part, the ledger of the batch and `results.jsonl`, with exactly one line per row of the manifest, in its order. A row without
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
  const spending = Spending.from();
  const results = folder + runFiles.results;
  const written = new Set<string>();
  await writeFile(files, results, merged(), { writing });
  await addToLedger(files, { folder, vcredits: spending.most }, writing);
  // A failure to tidy up is none of the batch.
  const sweep = (each: string, recursive = false) => files.sweepPartial?.(each, { recursive }).catch(() => undefined);
  await sweep(folder.replace(/\/run-\d+\/$/, '/'), true);
  for (const each of written) await sweep(each);
  return { results, counts };

  async function* merged(): AsyncGenerator<string> {
    const find = recentParts(files, folder);
    let used = 0;
    for await (const row of readItems(files, { folder }, writing.signal)) {
      const part = partOf.get(row.item);
      const result = part === undefined ? withoutJob(row) : await find(part, row.item);
      if (part !== undefined) used += 1;
      counts[result.status] += 1;
      spending.add(result, row.earlier ?? row.kept);
      if (written.size < mostSwept && !row.refused?.isUnclear) written.add(row.destination.replace(/[^/]*$/, ''));
      yield jsonLine(result);
    }
    if (used !== partOf.size)
      throw damagedParts(folder, `${partOf.size - used} results belong to no row of the manifest`);
  }
}

async function indexParts(files: FileStore, folder: string, parts: number): Promise<Map<number, number>> {
  const partOf = new Map<number, number>();
  for (let part = 1; part <= parts; part += 1) {
    for (const item of (await resultsOf(files, folder, part)).keys()) {
      const other = partOf.get(item);
      if (other !== undefined)
        throw damagedParts(folder, `item ${item} has two results, in parts ${other} and ${part}`);
      partOf.set(item, part);
    }
  }
  return partOf;
}

/** Finds results; the parts that were used last stay in memory. */
function recentParts(files: FileStore, folder: string) {
  const parts = new Map<number, Map<number, BatchItemResult>>();
  return async (part: number, item: number): Promise<BatchItemResult> => {
    const results = parts.get(part) ?? (await resultsOf(files, folder, part));
    parts.delete(part);
    parts.set(part, results);
    const [oldest] = parts.keys();
    if (parts.size > partsInMemory && oldest !== undefined) parts.delete(oldest);
    const result = results.get(item);
    if (!result) throw damagedParts(folder, `part ${part} changed while it was read`);
    return result;
  };
}

/** Keeps what earlier runs left open. */
function withoutJob({ item, done, kept, refused, earlier }: BatchItem): BatchItemResult {
  if (done) return { item, status: 'skipped', ...done };
  if (kept) return { item, ...kept, kept: true };
  if (refused) {
    const { code, message, isSkipped } = refused;
    return { item, status: isSkipped ? 'skipped' : 'failed', code, message, charge: 'no' };
  }
  return { item, status: 'cancelled', ...(earlier && rowOfEarlier(earlier)) };
}

function damagedParts(folder: string, why: string): RunFileError {
  return new RunFileError(
    'RUN_DAMAGED',
    `The results in ${folder}${runFiles.parts} can't be merged: ${why}. The jobs are done; their results are in the Temporal UI. Run the batch again to continue with what is left.`,
  );
}

/** Writes one part as a whole. Safe to repeat: replaces an existing part. */
export async function writeBatchPart(
  files: FileStore,
  { folder, part, results }: WriteBatchPartInput,
  writing: Writing,
): Promise<void> {
  await writeFile(files, partUri(folder, part), results.map(jsonLine), { writing });
}

async function resultsOf(files: FileStore, folder: string, part: number): Promise<Map<number, BatchItemResult>> {
  const results = new Map<number, BatchItemResult>();
  for await (const result of readPart(files, folder, { part })) results.set(result.item, result);
  return results;
}
