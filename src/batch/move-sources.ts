import { lstat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { BatchItem, SourceMoves } from './model/types';
import type { UnmovedSources, BatchItemResult } from './model/state';
import { lastSegment, placeOf, type SourceContent } from '../job/types';
import { shellWord } from '../messages/wording';
import { leadsInto } from '../storage/confine';
import { StorageError } from '../storage/errors';
import { maxNameBytes, numberName } from '../storage/file-name';
import type { FileStore, Moved } from '../storage/file-store';
import { shownPath, toPath, withShownPaths } from '../storage/file-uri';
import { sameContent, writeFile, type Writing } from './contents';
import { mapOrdered } from './lines';
import { Findings } from './findings';
import { readRows } from './run-folders';
import { folderOf, isInside, isLocal, relativeTo, shownFolder, within } from './uris';

interface MoveSourcesInput {
  folder: string;
  batch: string;
  moves: SourceMoves;
}

/** How a source ended in a run; `open`: not settled, so it stays. */
interface SourceEnd {
  source: string;
  end: 'done' | 'failed' | 'open';
  /** The content that each row was made from, or the stamp of a file that was never read. All must still match. */
  from: (SourceContent | string)[];
  reasons: string[];
}

const movesUnderWay = 8;

/**
 * Moves the sources of an ended run: those whose rows are all delivered, and those with a row that failed without a charge. A source
 * that has changed since, or that may have a paid result at the service, stays for the next sweep. Safe to repeat: if it is killed,
 * the next sweep moves the rest.
 */
export async function moveSources(
  files: FileStore,
  { folder, batch, moves }: MoveSourcesInput,
  writing: Writing,
): Promise<UnmovedSources | undefined> {
  const { signal } = writing;
  const move = async (sourceEnd: SourceEnd): Promise<string | undefined> => {
    try {
      await moveSource(files, sourceEnd, { batch, moves, writing });
      return undefined;
    } catch (error) {
      signal?.throwIfAborted();
      // A problem with one file or its folder must not stop the others.
      if (error instanceof StorageError) return withShownPaths(error.message, [error.uri]);
      throw error;
    }
  };
  const sourceEnds = await sourceEndsOf(files, { folder, moves }, signal);
  let unmoved: UnmovedSources | undefined;
  for await (const why of mapOrdered(sourceEnds, { concurrency: movesUnderWay, signal }, move)) {
    if (why !== undefined) unmoved = { why, ...unmoved, files: (unmoved?.files ?? 0) + 1 };
  }
  return unmoved;
}

async function sourceEndsOf(
  files: FileStore,
  { folder, moves }: Pick<MoveSourcesInput, 'folder' | 'moves'>,
  signal: AbortSignal | undefined,
): Promise<Iterable<SourceEnd>> {
  const sourceEnds = new Map<string, SourceEnd>();
  for await (const { item, result } of readRows(files, { folder }, signal)) {
    const { source } = item;
    if (!result || !isInside(moves.from, source)) continue;
    const sourceEnd = sourceEnds.get(source) ?? { source, end: 'done', from: [], reasons: [] };
    sourceEnds.set(source, sourceEnd);
    const end = endOf(item, result);
    const seen = result.source ?? item.stamp;
    if (end === 'open' || seen === undefined) sourceEnd.end = 'open';
    else if (end === 'failed' && sourceEnd.end !== 'open') sourceEnd.end = 'failed';
    if (seen !== undefined) sourceEnd.from.push(seen);
    if (end === 'failed') sourceEnd.reasons.push(reasonOf(item, result));
  }
  return sourceEnds.values();
}

function endOf({ done }: BatchItem, { status, source, output, charge, kept, workflowId }: BatchItemResult) {
  if (source && output && (status === 'succeeded' || hasResult(done))) return 'done';
  const isFree = (charge ?? (workflowId === undefined ? 'no' : 'maybe')) === 'no';
  return status === 'failed' && isFree && !kept ? 'failed' : 'open';
}

function reasonOf({ source, output }: BatchItem, { code = '', message = '' }: BatchItemResult): string {
  return `${lastSegment(source)} was not converted to ${output}.\n\n${code}: ${message}\n`;
}

interface Moving extends Pick<MoveSourcesInput, 'batch' | 'moves'> {
  writing: Writing;
}

async function moveSource(files: FileStore, sourceEnd: SourceEnd, moving: Moving): Promise<void> {
  const { source, end, reasons } = sourceEnd;
  const { from, done, failed } = moving.moves;
  const folder = end === 'done' ? done : end === 'failed' ? failed : undefined;
  if (folder === undefined) return;
  const stamp = await stampIfSame(files, sourceEnd, moving.writing.signal);
  if (stamp === undefined) return;
  const there = within(folder, relativeTo(from, source));
  await refuseStray(from, source);
  await refuseStray(folder, there);
  const reason =
    end === 'done'
      ? undefined
      : [...reasons, `${adviceFor(moving.batch)}\n${namedLine}${lastSegment(source)}\n`].join('\n');
  for (let number = 0; number <= maxNumber; number += 1) {
    const name = numberName(lastSegment(there), number, reason === undefined ? undefined : maxFileNameBytes);
    const to = name === lastSegment(there) ? there : within(folderOf(there), name);
    if ((await moveTo(files, { uri: source, to, stamp }, reason, moving.writing)) !== 'taken') return;
  }
}

const maxNumber = 9_999;

/** The current stamp, if the source still is what all of its rows were made from. */
async function stampIfSame(
  files: FileStore,
  { source, from }: SourceEnd,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const now = await files.look(source);
  if (now.kind !== 'file') return undefined;
  for (const each of from) {
    const isSame =
      typeof each === 'string' ? each === now.stamp : await sameContent(files, source, { content: each, signal });
    if (!isSame) return undefined;
  }
  return now.stamp;
}

/** Whether the end of a run moves the source of a row that gets no job. */
export async function isMovedWithoutJob(
  { source, stamp, done, refused }: Pick<BatchItem, 'source' | 'stamp' | 'done' | 'refused'>,
  moves: SourceMoves,
): Promise<boolean> {
  if (stamp === undefined) return false;
  const isDone = moves.done !== undefined && hasResult(done);
  const isFailed = moves.failed !== undefined && refused !== undefined && !refused.isSkipped;
  return (isDone || isFailed) && !(await isFixed(moves, source));
}

/** Whether the result of an earlier run is where it was delivered. */
function hasResult(done: BatchItem['done']): boolean {
  return done !== undefined && !done.missing && !done.existed;
}

/** Whether sweeps never move a file: it is a link, or lies behind one that leads out of the folder. */
async function isFixed({ from }: SourceMoves, source: string): Promise<boolean> {
  const found = isLocal(source) ? await lstat(toPath(source)).catch(() => undefined) : undefined;
  return found?.isSymbolicLink() === true || isStray(from, source);
}

/** A folder on the path may be a link to another place, whose files are not ours to move. */
async function isStray(root: string, uri: string): Promise<boolean> {
  return isLocal(root) && !(await leadsInto([toPath(root)], toPath(folderOf(uri))));
}

async function refuseStray(root: string, uri: string): Promise<void> {
  if (!(await isStray(root, uri))) return;
  const message = `${shownFolder(folderOf(uri))} leads out of ${shownFolder(root)} by a link. What is there stays.`;
  throw new StorageError({ code: 'SOURCE_UNREADABLE', message, uri });
}

/** Suffix of the reason file beside a failed source. */
const reasonSuffix = '.reason.txt';
/** Limit for a failed source, so that its reason file can have a longer name beside it. */
const maxFileNameBytes = maxNameBytes - reasonSuffix.length;
/** A larger file with that suffix is not ours. */
const maxReasonBytes = 1024 * 1024;
/** The last line but one. It names the batch, because several schedules may move failures into one folder. */
const adviceFor = (batch: string) => `To try again: fileconv batch retry ${shellWord(batch)}`;
/** Begins the last line, which has the original file name. */
const namedLine = 'Name: ';

/** Writes the reason before the move: a file without one would never be restored. */
async function moveTo(
  files: FileStore,
  move: { uri: string; to: string; stamp: string },
  reason: string | undefined,
  writing: Writing,
): Promise<Moved | undefined> {
  const { to } = move;
  // Anything at the target is another file, or a copy from an earlier attempt, which wrote the reason first.
  const isExplained = reason === undefined || (await files.look(to)).kind !== 'none';
  if (!isExplained) {
    try {
      // Attempt 2 accepts the same text from an earlier attempt. The job key is unique, because an attempt removes others of its key.
      const own = { ...writing, jobKey: `reason ${to}`, attempt: 2 };
      await writeFile(files, to + reasonSuffix, [reason], { writing: own, onExisting: 'fail' });
    } catch (error) {
      if (error instanceof StorageError && error.code === 'DESTINATION_EXISTS') return 'taken';
      throw error;
    }
  }
  let moved: Moved | undefined;
  try {
    moved = await files.move?.(move);
    return moved;
  } finally {
    // After a failure a copy may be at the target. The next attempt relies on its reason, so the reason stays.
    const isLeft = moved === undefined && (await files.look(to)).kind !== 'none';
    if (moved !== 'moved' && !isExplained && !isLeft) await files.remove(to + reasonSuffix);
  }
}

/**
 * Moves the failed sources of a batch back for a retry: each file with a reason beside it gets its original name, unless another
 * file has it by now. Safe to repeat.
 * @returns the files that could not be moved back, and why; and the places of those that were.
 */
export async function restoreFailed(
  files: FileStore,
  { batch, moves: { from, failed } }: Pick<MoveSourcesInput, 'batch' | 'moves'>,
  signal?: AbortSignal,
): Promise<{ unmoved: Findings; restored: Set<string> }> {
  const unmoved = new Findings();
  const restored = new Set<string>();
  if (failed === undefined) return { unmoved, restored };
  const reasons: string[] = [];
  for await (const { relative } of files.walk(failed, { signal })) {
    if (relative.endsWith(reasonSuffix)) reasons.push(relative);
  }
  for (const relative of reasons) {
    const reason = within(failed, relative);
    const uri = reason.slice(0, -reasonSuffix.length);
    try {
      const written = await files.look(reason);
      if (written.kind !== 'file' || written.bytes > maxReasonBytes) continue;
      const name = nameIn(await text(files.read(reason, { signal })), batch);
      if (name === undefined || !isNumbered(lastSegment(uri), name)) continue;
      const to = within(from, relative.replace(/[^/]*$/, '') + name);
      await refuseStray(from, to);
      const found = await files.look(uri);
      const moved = found.kind === 'file' ? await files.move?.({ uri, to, stamp: found.stamp }) : undefined;
      if (moved === 'taken') {
        unmoved.add(
          'SOURCE_UNUSABLE',
          `${shownPath(to)} is there again. What has failed before stays ${shownPath(uri)}.`,
        );
      }
      if (moved === 'moved') restored.add(placeOf(to));
      // A killed attempt may have moved the file and left only the reason.
      if (moved === 'moved' || (found.kind === 'none' && !found.isUnseen)) await files.remove(reason);
    } catch (error) {
      if (!(error instanceof StorageError) || error.retryable) throw error;
      unmoved.add('SOURCE_UNUSABLE', withShownPaths(error.message, [error.uri]));
    }
  }
  return { unmoved, restored };
}

function nameIn(reason: string, batch: string): string | undefined {
  // Not trimmed: a name may end with a space.
  const lines = reason.replace(/\r?\n$/, '').split(/\r?\n/);
  const [advice, last = ''] = lines.slice(-2);
  return advice === adviceFor(batch) && last.startsWith(namedLine) ? last.slice(namedLine.length) : undefined;
}

/** Whether the name is the original, numbered or not. Anybody may have written the reason, so no other name is accepted. */
function isNumbered(name: string, original: string): boolean {
  const numbers = [...name.matchAll(/ \((\d+)\)/g)].map(([, number]) => Number(number));
  return [0, ...numbers].some((number) => numberName(original, number, maxFileNameBytes) === name);
}
