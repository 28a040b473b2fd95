import type { BatchItem } from './model/types';
import { type BatchItemResult } from './model/state';
import { endOfItem, type BatchItemEnd } from '../job/types';
import type {
  EndRunInput,
  ReadBatchItemsInput,
  ReadBatchItemsResult,
  RereadBatchItemsInput,
  RereadBatchItemsResult,
  WriteBatchPartInput,
} from './model/activities';
import { rowOfEarlier } from '../job/job-outcome';
import { Spending } from './model/spending';
import type { FileStore } from '../storage/file-store';
import { writeFile, type Writing } from './contents';
import { addToLedger } from './ledger';
import { jsonLine } from './lines';
import { partUri, runFiles } from './run-files';
import { damagedParts, openParts, readItems, readPlacedItems } from './run-folders';

/** Limit of an activity result, exceeded by at most one row: Temporal accepts 2 MiB and warns from 512 KiB. */
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
    if (!isWithoutJob(item)) {
      if (items.length >= limit || bytes >= maxAnswerBytes) return { items, next, isEnd: false };
      items.push({ item, byte, next: end });
      bytes += end - byte;
    }
    next = { byte: end, item: item.item };
  }
  return { items, next, isEnd: true };
}

/** Whether the row gets no job. */
export function isWithoutJob({ done, kept, refused }: BatchItem): boolean {
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

/** Maximum number of result folders that are cleaned of abandoned temporary files. */
const maxSwept = 1_000;

/**
 * Writes the last part, `results.jsonl` with exactly one line per row of the manifest, in its order, and the ledger. A row without a
 * result is skipped if it is `done` or refused with `isSkipped`, failed if it is `kept` or refused otherwise, and else cancelled,
 * because it never started. Safe to repeat. Memory holds one number per result and a few parts, however large the batch is.
 */
export async function mergeBatchResults(
  files: FileStore,
  { folder, parts, rest }: Pick<EndRunInput, 'folder' | 'parts' | 'rest'>,
  writing: Writing,
): Promise<{ results: string; counts: Record<BatchItemEnd, number> }> {
  const lastPart = rest.length === 0 ? parts : parts + 1;
  if (lastPart > parts) await writeBatchPart(files, { folder, part: lastPart, results: rest }, writing);
  const all = Array.from({ length: lastPart }, (_, index) => index + 1);
  const found = await openParts(files, folder, { parts: all });
  const counts: Record<BatchItemEnd, number> = { succeeded: 0, failed: 0, skipped: 0, cancelled: 0 };
  const spending = Spending.from();
  const results = folder + runFiles.results;
  const written = new Set<string>();
  await writeFile(files, results, merged(), { writing });
  await addToLedger(files, { folder, vcredits: spending.upperBound }, writing);
  // Best effort: a failed cleanup must not fail the batch.
  const sweep = (each: string, recursive = false) => files.sweepPartial?.(each, { recursive }).catch(() => undefined);
  await sweep(folder.replace(/\/run-\d+\/$/, '/'), true);
  for (const each of written) await sweep(each);
  return { results, counts };

  async function* merged(): AsyncGenerator<string> {
    let used = 0;
    for await (const row of readItems(files, { folder }, writing.signal)) {
      const known = found.find(row.item);
      const result = known ? await known : withoutJob(row);
      if (known) used += 1;
      counts[endOfItem(result.status)] += 1;
      spending.add(result, row);
      if (written.size < maxSwept && !row.refused?.isUnclear) written.add(row.destination.replace(/[^/]*$/, ''));
      yield jsonLine(result);
    }
    if (used !== found.size)
      throw damagedParts(folder, `${found.size - used} results belong to no row of the manifest`);
  }
}

/** The result of a row without a job. Keeps what earlier runs left open. */
export function withoutJob({ item, done, kept, refused, earlier }: BatchItem): BatchItemResult {
  if (done) return { item, status: 'skipped', ...done };
  if (kept) return { item, ...kept, kept: true };
  if (refused) {
    const { code, message, isSkipped } = refused;
    return { item, status: isSkipped ? 'skipped' : 'failed', code, message, charge: 'no' };
  }
  return { item, status: 'cancelled', ...(earlier && rowOfEarlier(earlier)) };
}

/** Writes one part as a whole. Safe to repeat: replaces an existing part. */
export async function writeBatchPart(
  files: FileStore,
  { folder, part, results }: WriteBatchPartInput,
  writing: Writing,
): Promise<void> {
  await writeFile(files, partUri(folder, part), results.map(jsonLine), { writing });
}
