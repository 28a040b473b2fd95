import type { BigIntStats } from 'node:fs';
import { lstat, stat, open } from 'node:fs/promises';
import type { SourceContent } from '../../shared/job';
import { systemErrorCode } from '../../shared/system-error';
import { fileStamp, hashLocalFile } from '../../storage/source';

export type FileSnapshot =
  | { kind: 'file'; identity: string; stamp: string; bytes: number; mtimeMs: number }
  | { kind: 'folder'; identity: string }
  | { kind: 'other'; identity: string }
  /** Includes a dangling symbolic link. */
  | { kind: 'none'; reason: string; isLink: boolean };

/** Follows symbolic links. */
export async function look(file: string): Promise<FileSnapshot> {
  let isLink = false;
  try {
    // Most destinations don't exist yet: a single lstat shows that, and that they are no dangling link.
    const named = await lstat(file, { bigint: true });
    isLink = named.isSymbolicLink();
    return snapshotOf(isLink ? await stat(file, { bigint: true }) : named);
  } catch (error) {
    return { kind: 'none', reason: reasonOf(error), isLink };
  }
}

function snapshotOf(stats: BigIntStats): FileSnapshot {
  const identity = `${stats.dev}:${stats.ino}`;
  if (stats.isDirectory()) return { kind: 'folder', identity };
  if (!stats.isFile()) return { kind: 'other', identity };
  const mtimeMs = Number(stats.mtimeNs / 1_000_000n);
  return { kind: 'file', identity, stamp: fileStamp(stats), bytes: Number(stats.size), mtimeMs };
}

function reasonOf(error: unknown): string {
  switch (systemErrorCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return 'does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'may not be looked at by this user';
    default:
      return `can't be looked at: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Size and SHA-256 of a file; undefined if it cannot be read. */
export async function hashFile(
  file: string,
  signal?: AbortSignal,
): Promise<{ bytes: number; sha256: string } | undefined> {
  try {
    return await hashLocalFile(file, signal);
  } catch (error) {
    signal?.throwIfAborted();
    if (systemErrorCode(error) === undefined) throw error;
    return undefined;
  }
}

/** The file's current content if it equals `content`, else undefined. The file is read only if its stamp differs. */
export async function sameContent(
  file: string,
  content: SourceContent,
  signal?: AbortSignal,
): Promise<SourceContent | undefined> {
  const before = await look(file);
  if (before.kind !== 'file' || before.bytes !== content.bytes) return undefined;
  const { stamp } = before;
  if (content.stamp === stamp) return content;
  if ((await hashFile(file, signal))?.sha256 !== content.sha256) return undefined;
  const after = await look(file);
  return after.kind === 'file' && after.stamp === stamp ? { ...content, stamp } : undefined;
}

/** The bytes of a user's file, or the reason why it cannot be read. */
export async function openInput(
  file: string,
  signal: AbortSignal | undefined,
): Promise<AsyncIterable<Buffer> | { problem: string }> {
  try {
    const handle = await open(file);
    if ((await handle.stat()).isDirectory()) {
      await handle.close();
      return { problem: 'is a folder. Name a file.' };
    }
    return handle.createReadStream({ signal });
  } catch (error) {
    return { problem: explainUnreadable(systemErrorCode(error) ?? String(error)) };
  }
}

/** The end of a message that starts with the file's name; says what to do. */
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
