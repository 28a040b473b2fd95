import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { systemCode } from './errors';
import type { WalkedFile, WalkOptions } from './file-store';
import { toPath } from './file-uri';
import { isPartialName } from './partial-file';

/**
 * The files of each folder before those of its subfolders, both by name; memory holds the names of one folder at a
 * time. A link to an outside folder is followed once; a link into the tree is not, because the target is visited anyway.
 */
export async function* walkLocalFolder(uri: string, options: WalkOptions = {}): AsyncGenerator<WalkedFile> {
  const folder = toPath(uri);
  const root = await realpath(folder).catch(() => folder);
  yield* walk({ ...options, folder, root, dir: '', depth: 1, entered: new Set() });
}

interface Walk extends WalkOptions {
  folder: string;
  /** `folder` with links resolved. */
  root: string;
  /** Relative to `folder`. */
  dir: string;
  depth: number;
  /** Device and inode of each folder entered, so that links cause neither loops nor duplicates. */
  entered: Set<string>;
}

async function* walk(here: Walk): AsyncGenerator<WalkedFile> {
  const { folder, dir, depth, maxDepth = Infinity, onUnreadable } = here;
  here.signal?.throwIfAborted();
  const folders: { relative: string; isLink: boolean }[] = [];
  for (const entry of await enter(here)) {
    if (isPartialName(entry.name)) continue;
    const relative = dir === '' ? entry.name : `${dir}/${entry.name}`;
    const absolute = path.join(folder, relative);
    const kind = await kindOf(entry, absolute);
    if (kind === 'folder') folders.push({ relative, isLink: entry.isSymbolicLink() });
    else if (kind === 'file') yield { uri: pathToFileURL(absolute).href, relative };
    else if (kind === 'lost' && !(entry.isDirectory() && depth >= maxDepth)) {
      onUnreadable?.(relative, reasonForLost(entry.name));
    } else if (kind === 'other') onUnreadable?.(relative, 'is a pipe, a socket or a device');
  }
  if (depth >= maxDepth) return;
  for (const { relative, isLink } of folders) {
    if ((await here.enters?.(relative)) === false) continue;
    const reason = isLink ? await reasonNotToFollow(path.join(folder, relative), here) : undefined;
    if (reason === undefined) yield* walk({ ...here, dir: relative, depth: depth + 1 });
    else onUnreadable?.(relative, reason, true);
  }
}

/** The entries by name; none if the folder is gone, unreadable or already entered under another name. */
async function enter({ folder, dir, entered, onUnreadable }: Walk): Promise<Dirent[]> {
  const absolute = path.join(folder, dir);
  try {
    const identity = await identify(absolute);
    if (entered.has(identity)) return [];
    entered.add(identity);
    const entries = await readdir(absolute, { withFileTypes: true });
    return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT') return [];
    const isDenied = ['EACCES', 'EPERM'].includes(code);
    onUnreadable?.(dir, isDenied ? 'may not be looked into by this user' : `can't be read: ${textOf(error)}`);
    return [];
  }
}

/** A folder reachable in two ways gets one place for its results: under its real name, or else under the first link. */
async function reasonNotToFollow(link: string, { root, entered }: Walk): Promise<string | undefined> {
  try {
    const target = await realpath(link);
    if (target === root || isInside(target, root)) return 'is a link to a folder that it lies in';
    if (isInside(root, target)) return `is a link to ${target}, which lies in the same tree`;
    return entered.has(await identify(target)) ? 'is a link to a folder that was looked into before' : undefined;
  } catch {
    // Entering the folder reports the error.
    return undefined;
  }
}

/** Both paths must be absolute and without links. */
function isInside(folder: string, file: string): boolean {
  return file.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);
}

async function identify(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}

async function kindOf(entry: Dirent, absolute: string): Promise<'file' | 'folder' | 'lost' | 'other'> {
  if (!entry.isDirectory() && !entry.isFile() && !entry.isSymbolicLink()) return 'other';
  if (!entry.isSymbolicLink() && !entry.name.includes('\ufffd')) return entry.isFile() ? 'file' : 'folder';
  try {
    const target = await stat(absolute);
    return target.isDirectory() ? 'folder' : target.isFile() ? 'file' : 'other';
  } catch {
    return 'lost';
  }
}

function reasonForLost(name: string): string {
  if (name.includes('\ufffd')) return 'has a name that is not UTF-8; rename it';
  return 'is a symbolic link that leads nowhere';
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
