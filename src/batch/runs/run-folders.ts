import { randomUUID } from 'node:crypto';
import type { BatchItem, BatchItemResult } from '../../shared/batch';
import { StorageError } from '../../storage/errors';
import type { FileStore } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
import { writeFile } from '../contents';
import { parseBatchItem, parseBatchItemResult, partUri, readRecords, type RecordReading, runFiles } from '../run-files';
import { shownFolder, within } from '../uris';

export interface BatchRun {
  /** From 1. */
  number: number;
  folder: string;
}

export const runName = /^run-(\d{4,})$/;

/** The runs of a batch that have a manifest, latest first; none if the folder does not exist. */
export async function listRuns(files: FileStore, batchFolder: string): Promise<BatchRun[]> {
  const names = await filesOfRuns(files, batchFolder);
  const planned = [...names].filter(([, of]) => of.has(runFiles.manifest)).map(([number]) => number);
  return planned.sort((one, other) => other - one).map((number) => runOf(batchFolder, number));
}

/** Takes the folder of the next run. Concurrent planners each get their own. */
export async function claimRun(files: FileStore, batchFolder: string): Promise<BatchRun> {
  let number = Math.max(0, ...(await filesOfRuns(files, batchFolder)).keys()) + 1;
  for (; ; number += 1) {
    const run = runOf(batchFolder, number);
    try {
      // Whoever writes this file first has the folder.
      const writing = { jobKey: `claim ${randomUUID()}`, attempt: 1 };
      await writeFile(files, run.folder + runFiles.claim, ['taken\n'], { writing, onExisting: 'fail' });
      return run;
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== 'DESTINATION_EXISTS') throw error;
    }
  }
}

/** Removes a run that was planned but never started. Throws a TypeError if the folder is not named like a run. */
export async function discardRun(files: FileStore, folder: string): Promise<void> {
  if (!/\/run-\d{4,}\/$/.test(folder)) throw new TypeError(`${folder} is not the folder of a run.`);
  await files.remove(folder);
}

/** Names of the files of each run, by its number. Includes runs whose planning was interrupted. */
async function filesOfRuns(files: FileStore, batchFolder: string): Promise<Map<number, Set<string>>> {
  const names = new Map<number, Set<string>>();
  const walked = files.walk(batchFolder, {
    maxDepth: 2,
    enters: (relative) => runName.test(relative),
    onUnreadable(relative, reason) {
      throw new Error(`${shownPath(within(batchFolder, relative))} ${reason}.`);
    },
  });
  for await (const { relative } of walked) {
    const [folder = '', name] = relative.split('/');
    const number = Number(runName.exec(folder)?.[1]);
    if (name === undefined || !Number.isSafeInteger(number)) continue;
    names.set(number, (names.get(number) ?? new Set()).add(name));
  }
  return names;
}

function runOf(batchFolder: string, number: number): BatchRun {
  return { number, folder: `${batchFolder}run-${String(number).padStart(4, '0')}/` };
}

export async function exists(files: FileStore, uri: string): Promise<boolean> {
  return (await files.look(uri)).kind === 'file';
}

/** A file of an earlier run cannot be read; says which line of which file, and what to do. */
export class DamagedRunError extends Error {
  override readonly name = 'DamagedRunError';
}

export function readItems(files: FileStore, run: BatchRun, signal?: AbortSignal): AsyncGenerator<BatchItem> {
  return recordsOf(files, run.folder + runFiles.manifest, { run, parse: parseBatchItem, signal });
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
    yield* recordsOf(files, merged, { run, parse: parseBatchItemResult, signal });
    return;
  }
  const folder = `${run.folder}${runFiles.parts}/`;
  const parts: string[] = [];
  for await (const { relative } of files.walk(folder, { maxDepth: 1 })) {
    if (/^\d+\.jsonl$/.test(relative)) parts.push(relative);
  }
  for (const part of parts.sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))) {
    // The worker that wrote it may have been killed in the middle of its last line.
    yield* recordsOf(files, folder + part, { run, parse: parseBatchItemResult, mayBeTorn: true, signal });
  }
}

/** The results in one part; undefined if it is not written. */
export async function readPart(
  files: FileStore,
  { run, part, signal }: { run: BatchRun; part: number; signal?: AbortSignal | undefined },
): Promise<AsyncGenerator<BatchItemResult> | undefined> {
  const uri = partUri(run.folder, part);
  if (!(await exists(files, uri))) return undefined;
  return recordsOf(files, uri, { run, parse: parseBatchItemResult, signal });
}

export async function* recordsOf<Value>(
  files: FileStore,
  uri: string,
  { run, ...reading }: { run: BatchRun } & Omit<RecordReading<Value>, 'damaged'>,
): AsyncGenerator<Value> {
  const damaged = ({ line }: { line: number }, why: string, cause: unknown) =>
    new DamagedRunError(
      `${shownPath(uri)} line ${line} is damaged: ${why}. Restore it; or move ${shownFolder(run.folder)} out of the batch's folder, and what that run converted counts as not done.`,
      { cause },
    );
  for await (const { record } of readRecords(files, uri, { ...reading, damaged })) yield record;
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
