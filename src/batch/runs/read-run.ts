import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { BatchItem, BatchItemResult } from '../../shared/batch';
import { systemErrorCode } from '../../shared/system-error';
import { readLines } from '../lines';
import {
  parseBatchItem,
  parseBatchItemResult,
  doneSchema,
  earlierSchema,
  keptSchema,
  parseLine,
  runFiles,
} from '../run-files';
import type { EarlierRow } from './earlier-row';
import { exists, type BatchRun, listRuns } from './run-folders';

/** A file of an earlier run cannot be read; says which line of which file, and what to do. */
export class DamagedRunError extends Error {
  override readonly name = 'DamagedRunError';
}

export function readItems(run: BatchRun, signal?: AbortSignal): AsyncGenerator<BatchItem> {
  const file = path.join(run.folder, runFiles.manifest);
  return readRecords(file, { run, parse: parseBatchItem, signal });
}

/** Whether the run has results for all of its rows. */
export function hasEnded(run: BatchRun): Promise<boolean> {
  return exists(path.join(run.folder, runFiles.results));
}

/** The results of a run so far; if an item has several, the last counts. */
export async function* readEndedItems(run: BatchRun, signal?: AbortSignal): AsyncGenerator<BatchItemResult> {
  const merged = path.join(run.folder, runFiles.results);
  if (await exists(merged)) {
    yield* readRecords(merged, { run, parse: parseBatchItemResult, signal });
    return;
  }
  for (const part of await partsOf(run)) {
    // The worker that wrote it may have been killed in the middle of its last line.
    yield* readRecords(part, { run, parse: parseBatchItemResult, mayBeTorn: true, signal });
  }
}

async function partsOf(run: BatchRun): Promise<string[]> {
  const folder = path.join(run.folder, runFiles.parts);
  try {
    const names = await readdir(folder);
    return names
      .filter((name) => /^\d+\.jsonl$/.test(name))
      .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))
      .map((name) => path.join(folder, name));
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

async function* readRecords<RecordType>(
  file: string,
  options: { run: BatchRun; parse: (line: Buffer) => RecordType; mayBeTorn?: boolean; signal: AbortSignal | undefined },
): AsyncGenerator<RecordType> {
  const { run, parse, mayBeTorn, signal } = options;
  for await (const line of readLines(createReadStream(file, { signal }))) {
    let record: RecordType;
    try {
      record = parse(line.bytes);
    } catch (error) {
      if (mayBeTorn && !line.terminated) return;
      const reason = error instanceof Error ? error.message : String(error);
      throw new DamagedRunError(
        `${file} line ${line.number} is damaged: ${reason}. Restore it; or move ${run.folder} out of the batch's folder, and what that run converted counts as not done.`,
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
  run: BatchRun,
  signal?: AbortSignal,
): Promise<AsyncGenerator<LeftOutRow> | undefined> {
  const file = path.join(run.folder, runFiles.leftOut);
  if (!(await exists(file))) return undefined;
  const parse = (line: Buffer) => parseLine(leftOutSchema, line);
  return readRecords(file, { run, parse, signal });
}

/** Estimated vCredits for so many files, by the average of the latest run with results; undefined if there is none. */
export async function estimateVcredits(batchFolder: string, files: number): Promise<number | undefined> {
  for (const run of await listRuns(batchFolder)) {
    let paid = 0;
    let converted = 0;
    for await (const { status, vcredits } of readEndedItems(run)) {
      if (status !== 'succeeded' || vcredits === undefined) continue;
      paid += vcredits;
      converted += 1;
    }
    if (converted > 0) return Math.round((paid / converted) * files);
  }
  return undefined;
}
