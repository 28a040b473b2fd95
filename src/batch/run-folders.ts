import type { BatchItem, BatchItemResult } from '../shared/batch';
import type { FileStore } from '../storage/file-store';
import { shownPath } from '../storage/file-uri';
import { parseBatchItem, parseBatchItemResult, readRecords, type RecordReading, runFiles } from './run-files';
import { shownFolder, within } from './uris';

export interface BatchRun {
  /** From 1. */
  number: number;
  folder: string;
}

export const runName = /^run-(\d{4,})$/;

/** The runs of a batch that have a manifest, latest first; none if the folder does not exist. */
export async function listRuns(files: FileStore, batchFolder: string): Promise<BatchRun[]> {
  const numbers: number[] = [];
  const walked = files.walk(batchFolder, {
    maxDepth: 2,
    enters: (relative) => runName.test(relative),
    onUnreadable(relative, reason) {
      throw new Error(`${shownPath(within(batchFolder, relative))} ${reason}.`);
    },
  });
  for await (const { relative } of walked) {
    const [folder = '', name] = relative.split('/');
    if (name === runFiles.manifest) numbers.push(Number(runName.exec(folder)?.[1]));
  }
  return numbers
    .sort((one, other) => other - one)
    .map((number) => ({ number, folder: runFolder(batchFolder, number) }));
}

export function runFolder(batchFolder: string, number: number): string {
  return `${batchFolder}run-${String(number).padStart(4, '0')}/`;
}

/** @throws a TypeError if the folder is not named like a run. */
export function runOf(folder: string): BatchRun {
  const number = Number(/\/run-(\d{4,})\/$/.exec(folder)?.[1]);
  if (Number.isSafeInteger(number)) return { number, folder };
  throw new TypeError(`${folder} is not the folder of a run.`);
}

const keptRuns = 40;

/**
 * Removes the folders of old runs, with their results and reports: a batch that runs every hour would collect thousands.
 * The ledger knows what they did. Do not call it while the batch runs.
 * @returns how many were removed.
 */
export async function removeOldRuns(files: FileStore, batchFolder: string): Promise<number> {
  const numbers: number[] = [];
  // Whatever is left in them: a removal that was cut short may have begun with the manifest.
  const enters = (name: string) => {
    const number = runName.exec(name)?.[1];
    if (number !== undefined) numbers.push(Number(number));
    return false;
  };
  const walked = files.walk(batchFolder, { enters })[Symbol.asyncIterator]();
  while ((await walked.next()).done !== true);
  const old = numbers.sort((one, other) => other - one).slice(keptRuns);
  for (const number of old) await files.remove(runFolder(batchFolder, number));
  return old.length;
}

export async function exists(files: FileStore, uri: string): Promise<boolean> {
  return (await files.look(uri)).kind === 'file';
}

/** A file of an earlier run cannot be read; says which line of which file, and what to do. */
export class DamagedRunError extends Error {
  override readonly name = 'DamagedRunError';
}

export function readItems(files: FileStore, run: BatchRun, signal?: AbortSignal): AsyncGenerator<BatchItem> {
  return recordsOf(files, run.folder + runFiles.manifest, { parse: parseBatchItem, signal, cure: cureOf(run) });
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
    yield* recordsOf(files, merged, { parse: parseBatchItemResult, signal, cure: cureOf(run) });
    return;
  }
  const folder = `${run.folder}${runFiles.parts}/`;
  const parts: string[] = [];
  for await (const { relative } of files.walk(folder, { maxDepth: 1 })) {
    if (/^\d+\.jsonl$/.test(relative)) parts.push(relative);
  }
  for (const part of parts.sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))) {
    // The worker that wrote it may have been killed in the middle of its last line.
    yield* recordsOf(files, folder + part, {
      parse: parseBatchItemResult,
      mayBeTorn: true,
      signal,
      cure: cureOf(run),
    });
  }
}

export async function* recordsOf<Value>(
  files: FileStore,
  uri: string,
  { cure, ...reading }: { cure: string } & Omit<RecordReading<Value>, 'damaged'>,
): AsyncGenerator<Value> {
  const damaged = ({ line }: { line: number }, why: string, cause: unknown) =>
    new DamagedRunError(`${shownPath(uri)} line ${line} is damaged: ${why}. ${cure}.`, { cause });
  for await (const { record } of readRecords(files, uri, { ...reading, damaged })) yield record;
}

function cureOf({ folder }: BatchRun): string {
  return `Restore it; or move ${shownFolder(folder)} out of the batch's folder, and what that run converted counts as not done`;
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
