import type { Dirent } from 'node:fs';
import { access, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import picomatch from 'picomatch';
import { systemErrorCode } from '../../shared/system-error';
import { isPartialName } from '../../storage/partial-file';
import { runFiles } from '../run-files';

interface WalkOptions {
  /** Absolute path. */
  folder: string;
  /** As it was typed. */
  shown: string;
  /** Folders below are entered to this depth; 1 is the folder alone. */
  maxDepth: number;
  /** Files and folders whose names begin with a dot. */
  hidden: boolean;
  /** Given the path relative to the folder, with `/`. Default: every file. */
  matches?: (relative: string) => boolean;
  excluded: Exclusion;
  /** Absolute paths of folders that are not looked into: those of results and of batches. */
  skippedFolders: ReadonlySet<string>;
  /** Told of what is left out. */
  onUnreadable: (shown: string, reason: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * The files in a folder, each folder's files before its subfolders, both by name: always the same order, with the names of one folder at a time in
 * memory. A link to a folder outside is followed once; one that leads into the tree is not, whose files have their place there. Left out: what
 * is hidden, our temporary files, folders of batches.
 */
export async function* walkFolder(options: WalkOptions): AsyncGenerator<FoundSource> {
  const root = await realpath(options.folder).catch(() => options.folder);
  yield* walk({ ...options, root, dir: '', depth: 1, entered: new Set() });
}

interface Walk extends WalkOptions {
  /** The named folder without links. */
  root: string;
  /** Relative to the named folder. */
  dir: string;
  depth: number;
  /** Identities of the folders that were entered, so that links neither loop nor multiply. */
  entered: Set<string>;
}

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
    else if (kind === 'file' && (matches?.(relative) ?? true)) yield { path: absolute, shown, dir, how: 'found' };
  }
  if (here.depth >= here.maxDepth) return;
  for (const { relative, shown, isLink } of folders) {
    const absolute = path.join(here.folder, relative);
    if (here.skippedFolders.has(absolute) || (await isRunFolder(absolute))) continue;
    const reason = isLink ? await reasonNotToFollow(absolute, here) : undefined;
    if (reason !== undefined) {
      here.onUnreadable(shown, reason);
      continue;
    }
    yield* walk({ ...here, dir: relative, depth: here.depth + 1 });
  }
}

/** The entries by name; none when the folder can't be read, or was read under another name. */
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

/** A folder that is found in two ways has its results in one place: that of its real name, or else of the first link to it. */
async function reasonNotToFollow(link: string, { root, shown, entered }: Walk): Promise<string | undefined> {
  try {
    const target = await realpath(link);
    if (isInside(root, target)) return 'is a link to a folder that it lies in';
    if (isInside(target, root)) {
      return `is a link to ${showIn(shown, path.relative(root, target))}, which lies in the same tree`;
    }
    return entered.has(await identify(target)) ? 'is a link to a folder that was looked into before' : undefined;
  } catch {
    // What is wrong is told when it is entered.
    return undefined;
  }
}

/** Also when both are one. */
function isInside(inner: string, outer: string): boolean {
  return `${inner}${path.sep}`.startsWith(outer.endsWith(path.sep) ? outer : `${outer}${path.sep}`);
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

/** The folder of one run of a batch, wherever it lies. */
async function isRunFolder(folder: string): Promise<boolean> {
  return /^run-\d{4,}$/.test(path.basename(folder)) && exists(path.join(folder, runFiles.manifest));
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

function showIn(folder: string, relative: string): string {
  if (relative === '') return folder;
  if (folder === '' || folder === '.') return relative;
  return folder.endsWith('/') ? folder + relative : `${folder}/${relative}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether a file or folder is to be left out, by its path relative to the named folder and as messages show it. */
export type Exclusion = (relative: string, shown: string) => boolean;

/**
 * As in a .gitignore: a pattern without a slash is for the name of any file or folder, one with a slash for the path in the named
 * folder, or for the path as it was typed. A folder that is left out is not looked into.
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

/** A file that somebody named, or that was found in what he named. */
export interface FoundSource {
  /** Absolute path. */
  path: string;
  /** As a message calls it: built from what was typed. */
  shown: string;
  /** The file's folder relative to the named one, which the results' folders mirror; empty for the named folder itself. */
  dir: string;
  /** `named`: on the command line; `listed`: in a list of files; `found`: by looking into folders. */
  how: 'named' | 'listed' | 'found';
}
