import { z } from 'zod';
import type { BatchItem, BatchItemResult } from '../../shared/batch';
import type { FileStore } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
import { readLines } from '../lines';
import { shownFolder } from '../uris';
import {
  parseBatchItem,
  parseBatchItemResult,
  doneSchema,
  earlierSchema,
  keptSchema,
  parseLine,
  partUri,
  runFiles,
} from '../run-files';
import type { EarlierRow } from './earlier-row';
import { exists, type BatchRun, listRuns } from './run-folders';

/** A file of an earlier run cannot be read; says which line of which file, and what to do. */
export class DamagedRunError extends Error {
  override readonly name = 'DamagedRunError';
}

export function readItems(files: FileStore, run: BatchRun, signal?: AbortSignal): AsyncGenerator<BatchItem> {
  return readRecords(files, run.folder + runFiles.manifest, { run, parse: parseBatchItem, signal });
}

/** Whether the run has results for all of its rows. */
export function hasEnded(files: FileStore, run: BatchRun): Promise<boolean> {
  return exists(files, run.folder + runFiles.results);
}

/** The results of a run so far; if an item has several, the last counts. */
export async function* readEndedItems(
  files: FileStore,
  run: BatchRun,
  signal?: AbortSignal,
): AsyncGenerator<BatchItemResult> {
  const merged = run.folder + runFiles.results;
  if (await exists(files, merged)) {
    yield* readRecords(files, merged, { run, parse: parseBatchItemResult, signal });
    return;
  }
  for (const part of await partsOf(files, run)) {
    // The worker that wrote it may have been killed in the middle of its last line.
    yield* readRecords(files, part, { run, parse: parseBatchItemResult, mayBeTorn: true, signal });
  }
}

/** The results in one part; undefined if it is not written. */
export async function readPart(
  files: FileStore,
  { run, part, signal }: { run: BatchRun; part: number; signal?: AbortSignal | undefined },
): Promise<AsyncGenerator<BatchItemResult> | undefined> {
  const uri = partUri(run.folder, part);
  if (!(await exists(files, uri))) return undefined;
  return readRecords(files, uri, { run, parse: parseBatchItemResult, signal });
}

async function partsOf(files: FileStore, run: BatchRun): Promise<string[]> {
  const folder = `${run.folder}${runFiles.parts}/`;
  const names: string[] = [];
  for await (const { relative } of files.walk(folder, { maxDepth: 1 })) {
    if (/^\d+\.jsonl$/.test(relative)) names.push(relative);
  }
  return names.sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10)).map((name) => folder + name);
}

async function* readRecords<RecordType>(
  files: FileStore,
  uri: string,
  options: { run: BatchRun; parse: (line: Buffer) => RecordType; mayBeTorn?: boolean; signal: AbortSignal | undefined },
): AsyncGenerator<RecordType> {
  const { run, parse, mayBeTorn, signal } = options;
  for await (const line of readLines(files.read(uri, { signal }))) {
    let record: RecordType;
    try {
      record = parse(line.bytes);
    } catch (error) {
      if (mayBeTorn && !line.terminated) return;
      const reason = error instanceof Error ? error.message : String(error);
      throw new DamagedRunError(
        `${shownPath(uri)} line ${line.number} is damaged: ${reason}. Restore it; or move ${shownFolder(run.folder)} out of the batch's folder, and what that run converted counts as not done.`,
        { cause: error },
      );
    }
    yield record;
  }
}

const options = z.object({ output: z.string(), input: z.string().exactOptional() });

const leftOutSchema = z.object({
  destination: z.string(),
  options,
  delivered: z.object({ ...doneSchema.shape, options }).exactOptional(),
  owed: z.object({ ...earlierSchema.shape, options, outcome: keptSchema.exactOptional() }).exactOptional(),
  startedAs: z.array(z.int().positive()),
}) satisfies z.ZodType<LeftOutRow>;

/** A row of earlier runs that is not in this run although something is open; kept for a later run that has it again. */
export type LeftOutRow = Omit<EarlierRow, 'status'> & { destination: string };

/** Undefined if the run was planned by a version that did not record these rows. */
export async function readLeftOut(
  files: FileStore,
  run: BatchRun,
  signal?: AbortSignal,
): Promise<AsyncGenerator<LeftOutRow> | undefined> {
  const uri = run.folder + runFiles.leftOut;
  if (!(await exists(files, uri))) return undefined;
  const parse = (line: Buffer) => parseLine(leftOutSchema, line);
  return readRecords(files, uri, { run, parse, signal });
}

/** Estimated vCredits for so many files, by the average of the latest run with results; undefined if there is none. */
export async function estimateVcredits(
  files: FileStore,
  { batchFolder, todo }: { batchFolder: string; todo: number },
): Promise<number | undefined> {
  for (const run of await listRuns(files, batchFolder)) {
    let paid = 0;
    let converted = 0;
    for await (const { status, vcredits } of readEndedItems(files, run)) {
      if (status !== 'succeeded' || vcredits === undefined) continue;
      paid += vcredits;
      converted += 1;
    }
    if (converted > 0) return Math.round((paid / converted) * todo);
  }
  return undefined;
}
