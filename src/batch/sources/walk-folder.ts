import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import picomatch from 'picomatch';
import { systemErrorCode } from '../../shared/system-error';
import { printable } from '../../shared/wording';
import { isPartialName } from '../../storage/partial-file';
import { holdsControlCharacter, isInside } from '../destinations/resolve';
import { runFiles } from '../run-files';
import { exists } from '../runs/run-folders';

interface WalkOptions {
  /** Absolute path. */
  folder: string;
  /** As typed. */
  shown: string;
  /** How deep subfolders are entered; 1 is the folder alone. */
  maxDepth: number;
  /** Includes files and folders whose names start with a dot. */
  hidden: boolean;
  /** Called with the path relative to the folder, with `/`. Default: every file. */
  matches?: (relative: string) => boolean;
  excluded: Exclusion;
  /** Absolute paths of folders that are not entered: output folders and batch folders. */
  skippedFolders: ReadonlySet<string>;
  /** Called for whatever is left out. */
  onUnreadable: (shown: string, reason: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * The files of each folder before those of its subfolders, both by name, so that the order is stable; memory holds the
 * names of one folder at a time. A link to an outside folder is followed once; a link into the tree is not, because the
 * target is visited anyway. Leaves out hidden files, our temporary files and folders of runs.
 */
export async function* walkFolder(options: WalkOptions): AsyncGenerator<FoundSource> {
  const root = await realpath(options.folder).catch(() => options.folder);
  yield* walk({ ...options, root, dir: '', depth: 1, entered: new Set() });
}

interface Walk extends WalkOptions {
  /** The named folder with links resolved. */
  root: string;
  /** Relative to the named folder. */
  dir: string;
  depth: number;
  /** Device and inode of the folders entered, so that links neither loop nor duplicate files. */
  entered: Set<string>;
}

/** Its result, which is named after it, would be refused, and the whole batch with it. */
const unfitName = 'has a control character in its name; rename it';

async function* walk(here: Walk): AsyncGenerator<FoundSource> {
  const { dir, matches, entered } = here;
  here.signal?.throwIfAborted();
  const entries = await enter(path.join(here.folder, dir), here, entered);
  const folders: { relative: string; shown: string; isLink: boolean }[] = [];
  for (const entry of entries) {
    if (isPartialName(entry.name) || (!here.hidden && entry.name.startsWith('.'))) continue;
    const relative = dir === '' ? entry.name : `${dir}/${entry.name}`;
    const shown = showIn(here.shown, relative);
    if (here.excluded(relative, shown)) continue;
    const absolute = path.join(here.folder, relative);
    const kind = await kindOf(entry, absolute);
    if (kind === 'folder') folders.push({ relative, shown, isLink: entry.isSymbolicLink() });
    else if (kind === 'lost') here.onUnreadable(shown, reasonForLost(entry.name));
    else if (kind === 'file' && (matches?.(relative) ?? true)) {
      if (holdsControlCharacter(entry.name)) here.onUnreadable(printable(shown), unfitName);
      else yield { path: absolute, shown, dir, how: 'found' };
    }
  }
  if (here.depth >= here.maxDepth) return;
  for (const { relative, shown, isLink } of folders) {
    const absolute = path.join(here.folder, relative);
    if (here.skippedFolders.has(absolute) || (await isRunFolder(absolute))) continue;
    const isUnfit = holdsControlCharacter(path.basename(absolute));
    const reason = isUnfit ? unfitName : isLink ? await reasonNotToFollow(absolute, here) : undefined;
    if (reason !== undefined) {
      here.onUnreadable(printable(shown), reason);
      continue;
    }
    yield* walk({ ...here, dir: relative, depth: here.depth + 1 });
  }
}

/** The entries by name; none if the folder cannot be read or was already entered under another name. */
async function enter(folder: string, { shown, dir, onUnreadable }: Walk, entered: Set<string>): Promise<Dirent[]> {
  try {
    const identity = await identify(folder);
    if (entered.has(identity)) return [];
    entered.add(identity);
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch (error) {
    const denied = ['EACCES', 'EPERM'].includes(systemErrorCode(error) ?? '');
    onUnreadable(
      showIn(shown, dir),
      denied ? 'may not be looked into by this user' : `can't be read: ${textOf(error)}`,
    );
    return [];
  }
}

/** A folder reached in two ways gets one place for its results: under its real name, or else the first link to it. */
async function reasonNotToFollow(link: string, { root, shown, entered }: Walk): Promise<string | undefined> {
  try {
    const target = await realpath(link);
    if (target === root || isInside(target, root)) return 'is a link to a folder that it lies in';
    if (isInside(root, target)) {
      return `is a link to ${showIn(shown, path.relative(root, target))}, which lies in the same tree`;
    }
    return entered.has(await identify(target)) ? 'is a link to a folder that was looked into before' : undefined;
  } catch {
    // The error is reported when the folder is entered.
    return undefined;
  }
}

async function identify(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}

async function kindOf(entry: Dirent, absolute: string): Promise<'file' | 'folder' | 'lost' | 'other'> {
  if (entry.isFile()) return entry.name.includes('\ufffd') && !(await exists(absolute)) ? 'lost' : 'file';
  if (entry.isDirectory()) return 'folder';
  if (!entry.isSymbolicLink()) return 'other';
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

async function isRunFolder(folder: string): Promise<boolean> {
  return /^run-\d{4,}$/.test(path.basename(folder)) && exists(path.join(folder, runFiles.manifest));
}

function showIn(folder: string, relative: string): string {
  if (relative === '') return folder;
  if (folder === '' || folder === '.') return relative;
  return folder.endsWith('/') ? folder + relative : `${folder}/${relative}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether to leave out a file or folder, by its path relative to the named folder and as shown in messages. */
export type Exclusion = (relative: string, shown: string) => boolean;

/**
 * As in a .gitignore: a pattern without a slash matches the name of any file or folder; one with a slash matches the
 * path in the named folder, or as typed. Excluded folders are not entered.
 */
export function createExclusion(patterns: readonly string[]): Exclusion {
  const names: ((text: string) => boolean)[] = [];
  const paths: ((text: string) => boolean)[] = [];
  for (const pattern of patterns) {
    const trimmed = pattern.replace(/^\.?\//, '').replace(/\/(\*\*)?$/, '');
    (trimmed.includes('/') ? paths : names).push(picomatch(trimmed, { dot: true }));
  }
  return (relative, shown) => {
    const name = relative.slice(relative.lastIndexOf('/') + 1);
    return names.some((matches) => matches(name)) || paths.some((matches) => matches(relative) || matches(shown));
  };
}

/** A file that the user named, or that was found in a named folder. */
export interface FoundSource {
  /** Absolute path. */
  path: string;
  /** The name in messages, derived from what was typed. */
  shown: string;
  /** The file's folder relative to the named one, mirrored in the output folder; empty for the named folder itself. */
  dir: string;
  /** `named`: on the command line; `listed`: in a list of files; `found`: in a folder or by a pattern. */
  how: 'named' | 'listed' | 'found';
}
