import { createHash } from 'node:crypto';
import { type BigIntStats, createReadStream, lstat, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { cannotRead, destinationFailure, isEmpty, sourceFailure, systemCode } from './errors';
import type { FileSnapshot, SourceFile } from './file-store';
import { toPath } from './file-uri';

/** Large enough for an upload to run at the speed of the connection. */
const chunkBytes = 512 * 1024;

/** Enough to identify most formats. */
const headBytes = 4_096;

export async function openLocalSource(uri: string): Promise<SourceFile> {
  const filePath = toPath(uri);
  try {
    const seen = await stat(filePath, { bigint: true });
    refuseUnusable(seen, uri);
    const head = await readHead(filePath, Math.min(Number(seen.size), headBytes));
    return {
      uri,
      name: path.basename(filePath),
      size: Number(seen.size),
      path: filePath,
      stamp: fileStamp(seen),
      head,
      open: () =>
        Readable.from(readSeen({ uri, filePath, seen, head }), { objectMode: false, highWaterMark: chunkBytes }),
    };
  } catch (error) {
    throw sourceFailure(error, uri);
  }
}

/** Also proves that the file can be read: access() would check the real user, open() checks the effective one. */
async function readHead(filePath: string, length: number): Promise<Buffer> {
  const handle = await open(filePath, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Changes with every write: unlike mtime, ctime cannot be set back. */
export function fileStamp({ dev, ino, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, mtimeNs, ctimeNs].map((part) => part.toString(36)).join('-');
}

/** Checked before the file is opened: opening a named pipe would wait for a writer. */
function refuseUnusable(stats: BigIntStats, uri: string): void {
  if (stats.isDirectory()) throw cannotRead(uri, { code: 'SOURCE_IS_DIRECTORY', why: 'it is a folder; name a file.' });
  refuseIrregular(stats, uri);
  if (stats.size === 0n) throw isEmpty(uri);
}

function refuseIrregular(stats: Stats | BigIntStats, uri: string): void {
  if (!stats.isFile()) throw cannotRead(uri, { code: 'SOURCE_UNREADABLE', why: 'it is not a regular file.' });
}

interface Seen {
  uri: string;
  filePath: string;
  seen: BigIntStats;
  head: Buffer;
}

/** The bytes of a file. Fails if, at the first or last byte, it is not the file seen before. */
async function* readSeen({ uri, filePath, seen, head }: Seen): AsyncGenerator<Buffer> {
  const orFail = <T>(step: Promise<T>) =>
    step.catch((error: unknown) => {
      throw sourceFailure(error, uri);
    });
  let left = Number(seen.size);
  if (head.length === left) {
    assertSame(uri, seen, await orFail(stat(filePath, { bigint: true })));
    yield head;
    return;
  }
  const handle = await orFail(open(filePath, 'r'));
  try {
    assertSame(uri, seen, await orFail(handle.stat({ bigint: true })));
    while (left > 0) {
      // At most the file's size: a large buffer for each small file would keep the garbage collector busy.
      const wanted = Math.min(left, chunkBytes);
      const { bytesRead, buffer } = await orFail(handle.read(Buffer.allocUnsafeSlow(wanted), 0, wanted, null));
      if (bytesRead === 0) break;
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    assertSame(uri, seen, await orFail(handle.stat({ bigint: true })));
  } finally {
    // Closing a file that was only read cannot lose data.
    await handle.close().catch(() => undefined);
  }
}

function assertSame(uri: string, seen: BigIntStats, now: BigIntStats): void {
  if (now.size === seen.size && now.mtimeNs === seen.mtimeNs && now.ino === seen.ino && now.dev === seen.dev) return;
  const why = `the file changed while it was in use (${seen.size} bytes before, ${now.size} now).`;
  throw cannotRead(uri, { code: 'SOURCE_CHANGED', why, retryable: true });
}

/** The current bytes of a file, without a check for changes. */
export function readLocalFile(
  uri: string,
  { start = 0, signal }: { start?: number | undefined; signal?: AbortSignal | undefined } = {},
): Readable {
  return Readable.from(
    (async function* () {
      try {
        const seen = await stat(toPath(uri));
        // Reading a folder fails with its own error.
        if (!seen.isDirectory()) refuseIrregular(seen, uri);
        // A buffer of this size is allocated for each read, and most peeked files are small.
        const highWaterMark = Math.min(Math.max(seen.size - start, 1024), chunkBytes);
        yield* createReadStream(toPath(uri), { start, highWaterMark, signal });
      } catch (error) {
        // An aborted stream fails with its own error instead of the signal's reason.
        signal?.throwIfAborted();
        throw sourceFailure(error, uri);
      }
    })(),
  );
}

export interface Content {
  readonly bytes: number;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
}

export async function contentOf(body: Readable): Promise<Content> {
  const hash = createHash('sha256');
  let bytes = 0;
  body.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await pipeline(body, hash);
  return { bytes, sha256: hash.digest('hex') };
}

/** Size and SHA-256 of a result; undefined if it does not exist. */
export async function describeFile(uri: string): Promise<Content | undefined> {
  try {
    return await contentOf(createReadStream(toPath(uri), { highWaterMark: chunkBytes }));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw destinationFailure(error, uri);
  }
}

export async function lookAtLocalFile(uri: string): Promise<FileSnapshot> {
  const filePath = toPath(uri);
  let isLink = false;
  try {
    // Most destinations don't exist yet: a single lstat shows that, and rules out a dangling link.
    const named = await lookUnfollowed(filePath);
    isLink = named.isSymbolicLink();
    return snapshotOf(isLink ? await stat(filePath, { bigint: true }) : named);
  } catch (error) {
    return { kind: 'none', isLink, ...whyNone(error) };
  }
}

/** Costs half of the `lstat` that returns a promise; a plan looks at every file. */
function lookUnfollowed(filePath: string): Promise<BigIntStats> {
  return new Promise((resolve, reject) => {
    lstat(filePath, { bigint: true }, (error, stats) => (error ? reject(error) : resolve(stats)));
  });
}

function snapshotOf(stats: BigIntStats): FileSnapshot {
  const identity = `${stats.dev}:${stats.ino}`;
  if (stats.isDirectory()) return { kind: 'folder', identity };
  if (!stats.isFile()) return { kind: 'other', identity };
  const modifiedAt = Number(stats.mtimeNs / 1_000_000n);
  return { kind: 'file', identity, stamp: fileStamp(stats), bytes: Number(stats.size), modifiedAt };
}

function whyNone(error: unknown): { reason: string; isUnseen?: true } {
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return { reason: 'does not exist' };
    case 'EACCES':
    case 'EPERM':
      return { reason: 'may not be looked at by this user', isUnseen: true };
    default:
      return {
        reason: `can't be looked at: ${error instanceof Error ? error.message : String(error)}`,
        isUnseen: true,
      };
  }
}
