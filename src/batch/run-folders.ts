import type { BatchItem } from './model/types';
import type { BatchItemResult } from './model/state';
import { StorageError } from '../storage/errors';
import type { FileStore } from '../storage/file-store';
import { shownPath } from '../storage/file-uri';
import { peek } from '../storage/peek';
import { readLines } from './lines';
import { parseBatchItem, parseBatchItemResult, partUri, RunFileError, runFiles } from './run-files';
import { shownFolder, within } from './uris';

export interface BatchRun {
  /** From 1. */
  number: number;
  folder: string;
}

type RunPlace = Pick<BatchRun, 'folder'>;

export const runName = /^run-(\d{4,})$/;

/** The runs of a batch that have a manifest, latest first; empty if the folder does not exist. */
export async function listRuns(files: FileStore, batchFolder: string): Promise<BatchRun[]> {
  const { planned } = await walkRuns(files, batchFolder);
  return planned.map((number) => ({ number, folder: runFolder(batchFolder, number) }));
}

/** The numbers of the runs, latest first: of all folders, and of those with a manifest. */
async function walkRuns(files: FileStore, batchFolder: string): Promise<{ all: number[]; planned: number[] }> {
  const all = new Set<number>();
  const planned: number[] = [];
  const walked = files.walk(batchFolder, {
    maxDepth: 2,
    enters(relative) {
      const number = runName.exec(relative)?.[1];
      if (number !== undefined) all.add(Number(number));
      return number !== undefined;
    },
    onUnreadable(relative, reason) {
      throw new Error(`${shownPath(within(batchFolder, relative))} ${reason}.`);
    },
  });
  for await (const { relative } of walked) {
    const [folder = '', name] = relative.split('/');
    if (name === runFiles.manifest) planned.push(Number(runName.exec(folder)?.[1]));
  }
  const latestFirst = (numbers: Iterable<number>) => [...numbers].sort((one, other) => other - one);
  return { all: latestFirst(all), planned: latestFirst(planned) };
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
 * The ledger keeps what they did. Must not be called while the batch runs.
 * @returns how many were removed.
 */
export async function removeOldRuns(files: FileStore, batchFolder: string): Promise<number> {
  // Includes folders without a manifest: an interrupted removal may have deleted the manifest first.
  const old = (await walkRuns(files, batchFolder)).all.slice(keptRuns);
  for (const number of old) await files.remove(runFolder(batchFolder, number));
  return old.length;
}

/** @throws StorageError if that can't be determined, for example on an unavailable network mount. */
export async function exists(files: FileStore, uri: string): Promise<boolean> {
  const found = await files.look(uri);
  if (found.kind !== 'none' || !found.isUnseen) return found.kind === 'file';
  // A read makes the store throw an error that says why, and whether it is retryable.
  await (await peek(files.read(uri), (head) => head.length > 0)).close();
  const message = `${shownPath(uri)} ${found.reason}.`;
  throw new StorageError({ code: 'SOURCE_UNREADABLE', message, uri, retryable: true });
}

/** Whether the run has results for all of its rows. */
export function hasEnded(files: FileStore, { folder }: RunPlace): Promise<boolean> {
  return exists(files, folder + runFiles.results);
}

/** The planned rows of a run. */
export async function* readItems(files: FileStore, run: RunPlace, signal?: AbortSignal): AsyncGenerator<BatchItem> {
  for await (const { record } of readPlacedItems(files, run.folder, { signal })) yield record;
}

/** The same from byte `from` on, each with the offsets of its line and of the next one. */
export function readPlacedItems(
  files: FileStore,
  folder: string,
  { from, after = 0, signal }: { from?: number; after?: number; signal?: AbortSignal | undefined },
) {
  const parse = inOrder(parseBatchItem, after);
  return readRecords(files, folder + runFiles.manifest, { parse, from, signal, fix: fixOf(folder) });
}

async function listParts(files: FileStore, run: RunPlace): Promise<number[]> {
  const parts: number[] = [];
  for await (const { relative } of files.walk(`${run.folder}${runFiles.parts}/`, { maxDepth: 1 })) {
    if (/^\d+\.jsonl$/.test(relative)) parts.push(Number.parseInt(relative, 10));
  }
  return parts.sort((one, other) => one - other);
}

/**
 * Every row of a run with its result, in order; a row without a result has not ended. If an item has several, the last one counts.
 * Memory holds one number per unmerged result, and a few parts.
 */
export async function* readRows(
  files: FileStore,
  run: RunPlace,
  signal?: AbortSignal,
): AsyncGenerator<{ item: BatchItem; result?: BatchItemResult }> {
  if (await hasEnded(files, run)) {
    yield* readMerged(files, run, signal);
    return;
  }
  const found = await openParts(files, run.folder, { parts: await listParts(files, run), mayRepeat: true, signal });
  for await (const { record: item } of readPlacedItems(files, run.folder, { signal })) {
    const result = found.find(item.item);
    yield result ? { item, result: result instanceof Promise ? await result : result } : { item };
  }
}

async function* readMerged(files: FileStore, run: RunPlace, signal: AbortSignal | undefined) {
  const reading = { parse: inOrder(parseBatchItemResult), signal, fix: fixOf(run.folder) };
  const ended = recordsOf(files, run.folder + runFiles.results, reading);
  const differs = (why: string) => damaged(run.folder + runFiles.results, `${why}. ${fixOf(run.folder)}`);
  try {
    for await (const item of readItems(files, run, signal)) {
      const next = await ended.next();
      if (next.done === true || next.value.item !== item.item) {
        throw differs(`the result of item ${item.item} is missing`);
      }
      yield { item, result: next.value };
    }
    if ((await ended.next()).done !== true) throw differs('it holds more results than there are items');
  } finally {
    await ended.return(undefined);
  }
}

/** Parts follow the manifest's order except for slow jobs, so only a few are in use at a time. */
const partsInMemory = 32;

/** Results in the parts of a run, by item. `find` returns a promise if it must read the part again. */
export interface Parts {
  find(item: number): BatchItemResult | Promise<BatchItemResult> | undefined;
  /** Number of items that have a result. */
  readonly size: number;
}

/**
 * Reads all parts, the first one last: the latest parts read stay in memory, and callers need the first results first.
 * @throws RunFileError for two results of an item, unless `mayRepeat`.
 */
export async function openParts(
  files: FileStore,
  folder: string,
  { parts, mayRepeat, signal }: { parts: readonly number[]; mayRepeat?: true; signal?: AbortSignal | undefined },
): Promise<Parts> {
  const partOf = new Map<number, number>();
  const recent = new Map<number, Map<number, BatchItemResult>>();
  for (const part of [...parts].reverse()) {
    for (const item of (await read(part)).keys()) {
      const later = partOf.get(item);
      if (later === undefined) partOf.set(item, part);
      else if (!mayRepeat) throw damagedParts(folder, `item ${item} has two results, in parts ${part} and ${later}`);
    }
  }
  return {
    find(item) {
      const part = partOf.get(item);
      if (part === undefined) return undefined;
      const results = recent.get(part);
      return results ? keep(part, results).get(item) : findAgain(part, item);
    },
    size: partOf.size,
  };

  async function findAgain(part: number, item: number): Promise<BatchItemResult> {
    const result = (await read(part)).get(item);
    if (!result) throw damagedParts(folder, `part ${part} changed while it was read`);
    return result;
  }

  /** Tolerates a torn last line: the worker that wrote the part may have been killed. */
  async function read(part: number) {
    const results = new Map<number, BatchItemResult>();
    const reading = { parse: parseBatchItemResult, mayBeTorn: true, signal, fix: fixOf(folder) };
    for await (const { record } of readRecords(files, partUri(folder, part), reading)) results.set(record.item, record);
    return keep(part, results);
  }

  function keep(part: number, results: Map<number, BatchItemResult>) {
    recent.delete(part);
    recent.set(part, results);
    const [oldest] = recent.keys();
    if (recent.size > partsInMemory && oldest !== undefined) recent.delete(oldest);
    return results;
  }
}

export function damagedParts(folder: string, why: string): RunFileError {
  return new RunFileError(
    'RUN_DAMAGED',
    `The results in ${folder}${runFiles.parts} can't be merged: ${why}. The jobs are done; their results are in the Temporal UI. Run the batch again to continue with what is left.`,
  );
}

interface RecordReading<Value> {
  parse: (line: Buffer) => Value;
  /** What to do about a line that `parse` refuses. */
  fix: string;
  mayBeTorn?: boolean;
  /** Byte offset to start at. Default: 0. */
  from?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** The records of a file of a batch. @throws RunFileError */
export async function* recordsOf<Value>(
  files: FileStore,
  uri: string,
  reading: RecordReading<Value>,
): AsyncGenerator<Value> {
  for await (const { record } of readRecords(files, uri, reading)) yield record;
}

async function* readRecords<Value>(
  files: FileStore,
  uri: string,
  { parse, fix, mayBeTorn, from = 0, signal }: RecordReading<Value>,
) {
  let start = from;
  try {
    for await (const { bytes, terminated, end } of readLines(files.read(uri, { start, signal }))) {
      signal?.throwIfAborted();
      const next = from + end;
      let record: Value;
      try {
        record = parse(bytes);
      } catch (error) {
        if (mayBeTorn === true && !terminated) return;
        const why = error instanceof Error ? error.message : String(error);
        throw damaged(uri, `line ${await lineAt(files, uri, start)} is damaged: ${why}. ${fix}`, error);
      }
      yield { record, start, next };
      start = next;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof StorageError) || error.code !== 'SOURCE_NOT_FOUND') throw error;
    throw new RunFileError(
      'RUN_MISSING',
      `There is no ${shownPath(uri)}. Workers and commands must see one folder. ${fix}.`,
      {
        cause: error,
      },
    );
  }
}

function damaged(uri: string, what: string, cause?: unknown): RunFileError {
  return new RunFileError('RUN_DAMAGED', `${shownPath(uri)} ${what}.`, { cause });
}

/** Number of the line at a byte offset; only for messages, because a reader that starts at an offset does not know it. */
async function lineAt(files: FileStore, uri: string, start: number): Promise<number> {
  let line = 1;
  for await (const { end } of readLines(files.read(uri))) {
    if (end > start) break;
    line += 1;
  }
  return line;
}

function inOrder<Value extends { item: number }>(parse: (line: Buffer) => Value, after = 0): (line: Buffer) => Value {
  let last = after;
  return (line) => {
    const record = parse(line);
    if (record.item <= last) throw new Error(`item ${record.item} comes after item ${last}`);
    last = record.item;
    return record;
  };
}

function fixOf(folder: string): string {
  return `Restore it; or move ${shownFolder(folder)} out of the batch's folder and run the batch again, and what that run converted counts as not done`;
}
