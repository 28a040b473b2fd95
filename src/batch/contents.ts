import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceContent } from '../job/types';
import type { OnExisting } from '../job/policies';
import { systemErrorCode } from '../messages/system-error';
import { StorageError, unseen } from '../storage/errors';
import type { FileSnapshot, FileStore } from '../storage/file-store';
import { contentOf, type Content } from '../storage/source';
import { peek } from '../storage/peek';
import { isOfWeb } from './uris';

const maxReads = 3;

/**
 * Size and SHA-256 of a file; undefined if it cannot be read.
 * @throws StorageError after repeated retryable failures, because the content may be unchanged.
 */
export async function hashFile(files: FileStore, uri: string, signal?: AbortSignal): Promise<Content | undefined> {
  for (let reads = 1; ; reads += 1) {
    try {
      return await contentOf(files.read(uri, { signal }));
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof StorageError)) throw error;
      if (!error.retryable) return undefined;
      if (reads === maxReads) throw error;
      await sleep(reads * 500, undefined, { ...(signal && { signal }) });
    }
  }
}

/** Looks at a source. While a web host does not answer, the source counts as absent, with `mayPass`. */
export function lookAtSource(files: FileStore, uri: string): Promise<FileSnapshot> {
  return unlessAway(
    uri,
    () => files.look(uri),
    (error) => ({ ...unseen(error), mayPass: true }),
  );
}

/** Like `hashFile`, but for a source: also undefined while a web host does not answer. */
export function hashSource(files: FileStore, uri: string, signal?: AbortSignal): ReturnType<typeof hashFile> {
  return unlessAway(
    uri,
    () => hashFile(files, uri, signal),
    () => undefined,
  );
}

/** A web host that does not answer must not stop files of other hosts: `instead` then gives the answer. */
function unlessAway<T>(uri: string, ask: () => Promise<T>, instead: (error: StorageError) => T): Promise<T> {
  if (!isOfWeb(uri)) return ask();
  return ask().catch((error: unknown) => {
    if (error instanceof StorageError && error.retryable) return instead(error);
    throw error;
  });
}

export interface Comparison {
  content: SourceContent;
  signal?: AbortSignal | undefined;
}

/**
 * The file's current content if it equals `content`, else undefined. Reads the file only if its stamp differs. A file on a web host
 * counts as the same while the host does not answer.
 */
export function sameContent(files: FileStore, uri: string, comparison: Comparison): Promise<SourceContent | undefined> {
  return unlessAway<SourceContent | undefined>(
    uri,
    () => compareContent(files, uri, comparison),
    () => comparison.content,
  );
}

async function compareContent(
  files: FileStore,
  uri: string,
  { content, signal }: Comparison,
): Promise<SourceContent | undefined> {
  const before = await files.look(uri);
  if (before.kind !== 'file' || before.bytes !== content.bytes) return undefined;
  const { stamp } = before;
  // Some web hosts report no version, so the stamp is empty.
  if (stamp !== '' && content.stamp === stamp) return content;
  if ((await hashFile(files, uri, signal))?.sha256 !== content.sha256) return undefined;
  const after = await files.look(uri);
  return after.kind === 'file' && after.stamp === stamp ? { ...content, stamp } : undefined;
}

/** The bytes of a user's file, or the reason why it cannot be read. */
export async function openInput(
  files: FileStore,
  uri: string,
  signal: AbortSignal | undefined,
): Promise<AsyncIterable<Buffer> | { problem: string }> {
  try {
    return (await peek(files.read(uri, { signal }), (head) => head.length > 0)).all;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof StorageError) return { problem: whyUnreadable(error) };
    throw error;
  }
}

/** The end of a message that starts with the file's name; says what to do. */
function whyUnreadable(error: StorageError): string {
  if (error.code === 'SOURCE_IS_DIRECTORY') return 'is a folder. Name a file.';
  const code = systemErrorCode(error.cause);
  return code === undefined && error.code !== 'SOURCE_NOT_FOUND'
    ? `cannot be read: ${error.message.replace(`Cannot read ${error.uri}: `, '')}`
    : explainUnreadable(code ?? 'ENOENT');
}

/** Like `whyUnreadable`, for the code of a failed system call. */
export function explainUnreadable(code: string): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return 'does not exist. Check the name and the folder.';
    case 'EACCES':
    case 'EPERM':
      return 'cannot be read: permission denied. Allow it with chmod, or run as a user who may read it.';
    case 'ELOOP':
      return 'cannot be read: its symbolic links form a loop.';
    default:
      return `cannot be read: ${code}.`;
  }
}

/** The writer's identity, as in `FileStore.writeDestination`. */
export interface Writing {
  jobKey: string;
  attempt: number;
  signal?: AbortSignal | undefined;
}

const chunkCharacters = 64 * 1024;

/** Writes text, given in pieces of any size, atomically. */
export async function writeFile(
  files: FileStore,
  uri: string,
  text: Iterable<string> | AsyncIterable<string>,
  { writing, onExisting = 'overwrite' }: { writing: Writing; onExisting?: OnExisting },
): Promise<void> {
  await files.writeDestination({ ...writing, uri, onExisting, body: Readable.from(encoded(inChunks(text))) });
}

/** Joins the pieces into chunks that are worth a write. */
export async function* inChunks(pieces: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string, undefined> {
  let waiting = '';
  for await (const piece of pieces) {
    waiting += piece;
    if (waiting.length < chunkCharacters) continue;
    yield waiting;
    waiting = '';
  }
  yield waiting;
}

async function* encoded(text: AsyncIterable<string>): AsyncGenerator<Buffer> {
  for await (const each of text) yield Buffer.from(each);
}
