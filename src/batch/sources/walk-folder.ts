import picomatch from 'picomatch';
import { printable } from '../../shared/wording';
import type { FileStore, FoundFile } from '../../storage/file-store';
import { runFiles } from '../run-files';
import { runName } from '../runs/run-folders';
import { asFolder, holdsControlCharacter, isLocal, within } from '../uris';

interface WalkOptions {
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
  /** Folders that are not entered: output folders and batch folders. */
  skippedFolders: ReadonlySet<string>;
  /** Called for whatever is left out. */
  onUnreadable: (shown: string, reason: string) => void;
  signal?: AbortSignal | undefined;
}

/** Its result, which is named after it, would be refused, and the whole batch with it. */
const unfitName = 'has a control character in its name; rename it';
/** Keys of object stores may; in a URI they mean another folder. */
const dots = new Set(['.', '..']);
const dotsAsName = 'has a segment of dots in its key; rename it';
/** Where batches of a store keep what they know. */
const runsFolder = '.fileconv';

/** Files of a folder in the order of the store. Leaves out hidden files and folders of runs. */
export async function* walkFolder(files: FileStore, options: WalkOptions): AsyncGenerator<FoundSource> {
  const { folder, shown: named, maxDepth, hidden, matches, excluded, skippedFolders, onUnreadable, signal } = options;
  const shownAs = (relative: string) => showIn(named, relative);
  const isWanted = (relative: string) =>
    (hidden ? lastOf(relative) !== runsFolder : !lastOf(relative).startsWith('.')) &&
    !excluded(relative, shownAs(relative));
  const isUnfit = (relative: string) => {
    const name = lastOf(relative);
    const why = dots.has(name) ? dotsAsName : holdsControlCharacter(name) ? unfitName : undefined;
    if (why !== undefined) onUnreadable(printable(shownAs(relative)), why);
    return why !== undefined;
  };
  const walked = files.walk(folder, {
    maxDepth,
    async enters(relative) {
      const subfolder = asFolder(within(folder, relative));
      if (!isWanted(relative) || skippedFolders.has(subfolder) || (await isRunFolder(files, subfolder))) return false;
      return !isUnfit(relative);
    },
    onUnreadable(relative, reason) {
      if (relative === '' || isWanted(relative)) onUnreadable(printable(shownAs(relative)), reason);
    },
    signal,
  });
  for await (const { uri: told, relative, found } of walked) {
    if (!isWanted(relative) || (matches && !matches(relative)) || isUnfit(relative)) continue;
    const dir = relative.slice(0, Math.max(relative.lastIndexOf('/'), 0));
    // In the spelling of the other URIs, whatever the store's is.
    const uri = isLocal(folder) ? told : within(folder, relative);
    yield { uri, ...(found && { found }), shown: shownAs(relative), dir, how: 'found' };
  }
}

async function isRunFolder(files: FileStore, folder: string): Promise<boolean> {
  if (!runName.test(lastOf(folder.slice(0, -1)))) return false;
  return (await files.look(folder + runFiles.manifest)).kind === 'file';
}

function lastOf(relative: string): string {
  return relative.slice(relative.lastIndexOf('/') + 1);
}

function showIn(folder: string, relative: string): string {
  if (relative === '') return folder;
  if (folder === '' || folder === '.') return relative;
  return asFolder(folder) + relative;
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
    const name = lastOf(relative);
    return names.some((matches) => matches(name)) || paths.some((matches) => matches(relative) || matches(shown));
  };
}

/** A file that the user named, or that was found in a named folder. */
export interface FoundSource {
  uri: string;
  /** Absent if it was not looked at yet. */
  found?: FoundFile;
  /** The name in messages, derived from what was typed. */
  shown: string;
  /** The file's folder relative to the named one, mirrored in the output folder; empty for the named folder itself. */
  dir: string;
  /** `named`: on the command line; `listed`: in a list of files; `found`: in a folder or by a pattern. */
  how: 'named' | 'listed' | 'found';
}
