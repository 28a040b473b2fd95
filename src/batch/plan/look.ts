import type { BigIntStats } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import { systemErrorCode } from '../../shared/system-error';
import { fileStamp } from '../../storage/source';

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
