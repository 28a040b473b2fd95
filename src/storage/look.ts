import type { BigIntStats } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import { systemCode } from './errors';
import type { FileSnapshot } from './file-store';
import { toPath } from './file-uri';
import { fileStamp } from './source';

export async function lookAtLocalFile(uri: string): Promise<FileSnapshot> {
  const filePath = toPath(uri);
  let isLink = false;
  try {
    // Most destinations don't exist yet: a single lstat shows that, and that they are no dangling link.
    const named = await lstat(filePath, { bigint: true });
    isLink = named.isSymbolicLink();
    return snapshotOf(isLink ? await stat(filePath, { bigint: true }) : named);
  } catch (error) {
    return { kind: 'none', reason: reasonOf(error), isLink };
  }
}

function snapshotOf(stats: BigIntStats): FileSnapshot {
  const identity = `${stats.dev}:${stats.ino}`;
  if (stats.isDirectory()) return { kind: 'folder', identity };
  if (!stats.isFile()) return { kind: 'other', identity };
  const modifiedAt = Number(stats.mtimeNs / 1_000_000n);
  return { kind: 'file', identity, stamp: fileStamp(stats), bytes: Number(stats.size), modifiedAt };
}

function reasonOf(error: unknown): string {
  switch (systemCode(error)) {
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
