import path from 'node:path';
import picomatch from 'picomatch';
import type { BatchSources } from '../model/types';
import { lastSegment } from '../../job/types';
import { printable } from '../../messages/wording';
import { StorageError } from '../../storage/errors';
import { suspectSuffix } from '../../storage/file-name';
import { shownPath } from '../../storage/file-uri';
import type { FileStore, FoundFile } from '../../storage/file-store';
import { lookAtSource, openInput } from '../contents';
import { notAName } from '../destinations/resolve';
import { peek } from '../../storage/peek';
import { decodeText, readLines, withoutMark } from '../lines';
import type { Finding, FindingCode, Findings } from '../findings';
import { runFiles } from '../run-files';
import { runName } from '../run-folders';
import {
  asFolder,
  holdsControlCharacter,
  isInside,
  isLocal,
  isUri,
  relativeTo,
  resolveName,
  shownAsWritten,
  within,
} from '../uris';

/** Files, folders, patterns such as `scans/*.tif` in quotes, and `-` for a list of files on standard input. */
export type SourceSelection = Omit<BatchSources, 'to' | 'input' | 'parameters'>;

export interface SourceLookup {
  files: FileStore;
  /** Base folder of relative names. */
  cwd: string;
  /** Read if `-` is named. */
  stdin?: AsyncIterable<Buffer> | undefined;
  /** Folders that are searched only if named: their URIs and, for local ones, their identities. */
  skippedFolders: ReadonlySet<string>;
  /** Collects what prevents the batch from running. */
  problems: Findings;
  warnings: Findings;
  /** Collects what is left out because it can't be read or its name can't be used. */
  unread: Findings;
  signal?: AbortSignal | undefined;
}

/** Files in the order they were named, those of a folder in a stable order. Files may repeat, and some carry a refusal. */
export async function* findSources(selection: SourceSelection, lookup: SourceLookup): AsyncGenerator<FoundSource> {
  const excluded = createExclusion(selection.exclude ?? []);
  const fromStdin = [selection.filesFrom ?? '', ...selection.sources].filter((name) => name === '-').length;
  if (fromStdin > 1) {
    lookup.problems.add('SOURCE_UNUSABLE', 'Standard input is named twice. Name - once.');
    return;
  }
  for (const named of selection.sources) {
    lookup.signal?.throwIfAborted();
    if (named === '-') yield* listed('-', { ...lookup, excluded });
    else {
      const looking = { ...lookup, excluded, recursive: selection.recursive ?? false };
      yield* orUnsupported(inNamed(named, looking), shownAsWritten(named));
    }
  }
  if (selection.filesFrom !== undefined) yield* listed(selection.filesFrom, { ...lookup, excluded });
}

interface Looking extends SourceLookup {
  excluded: Exclusion;
}

async function* inNamed(typed: string, looking: Looking & { recursive: boolean }): AsyncGenerator<FoundSource> {
  const { files, cwd, recursive, warnings, excluded } = looking;
  const uri = resolveName(typed, cwd);
  const named = shownAsWritten(typed);
  const shown = uri !== undefined && isLocal(named) ? shownPath(withoutSlash(uri)) : named;
  if (uri === undefined) {
    yield noFile(named, 'SOURCE_NOT_FOUND', notAName(typed));
    return;
  }
  const { base, glob, isGlob } = picomatch.scan(named);
  // In a URI a question mark begins a query.
  const isPattern = isGlob && (!isUri(named) || /[*[{(]/.test(named));
  const isPrefix = !isLocal(uri) && uri.endsWith('/');
  const found = isPrefix ? ({ kind: 'folder' } as const) : await lookAtSource(files, withoutSlash(uri));
  if (found.kind === 'none' && isPattern && !found.isUnseen) yield* matching(named, { base, glob, looking });
  else if (found.kind === 'folder') {
    const inside = walkFolder({ folder: asFolder(uri), shown, maxDepth: recursive ? Infinity : 1 }, looking);
    const hint = recursive ? '' : ' To look into its folders too, add --recursive.';
    yield* orElse(inside, () => {
      warnings.add('NO_SOURCES', `${shown} holds no files to convert.${hint}`);
      return undefined;
    });
  } else if (!excluded(lastSegment(uri), named)) {
    yield { uri: withoutSlash(uri), ...(found.kind === 'file' && { found }), shown, dir: '', how: 'named' };
  }
}

/** Stands for a name that leads to no file. */
function noFile(shown: string, code: FindingCode, message: string): FoundSource {
  return { uri: '', shown, dir: '', how: 'named', refusal: { code, message } };
}

/** A URI may have no store, or one that can't list files. */
async function* orUnsupported(found: AsyncIterable<FoundSource>, named: string): AsyncGenerator<FoundSource> {
  try {
    yield* found;
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== 'UNSUPPORTED_URI') throw error;
    yield noFile(named, 'SOURCE_NOT_FOUND', error.message);
  }
}

async function* orElse<Each>(all: AsyncIterable<Each>, whenNone: () => Each | undefined): AsyncGenerator<Each> {
  let isEmpty = true;
  for await (const each of all) {
    isEmpty = false;
    yield each;
  }
  const instead = isEmpty && whenNone();
  if (instead) yield instead;
}

function withoutSlash(uri: string): string {
  return uri.endsWith('/') && uri !== 'file:///' ? uri.slice(0, -1) : uri;
}

/** Files that match a pattern; `dir` is relative to the pattern's literal beginning. */
async function* matching(
  pattern: string,
  { base, glob, looking }: { base: string; glob: string; looking: Looking },
): AsyncGenerator<FoundSource> {
  const matches = picomatch(glob, { dot: false });
  // Braces and parentheses may contain slashes.
  const isDeep = /\*\*|[{(]/.test(glob);
  const found = walkFolder(
    {
      folder: asFolder(resolveName(base, looking.cwd) ?? looking.cwd),
      shown: base,
      maxDepth: isDeep ? Infinity : glob.split('/').length,
      ...(/(^|[/{,(|])\./.test(glob) && { hidden: true }),
      matches,
    },
    looking,
  );
  const problem = `${pattern} matches no file. Check the pattern, the folder, and what --exclude leaves out.`;
  yield* orElse(found, () => noFile(pattern, 'SOURCE_NOT_FOUND', problem));
}

/** The files of a list. Missing ones become rows that fail: in a long list one lost file must not stop the rest. */
async function* listed(name: string, looking: Looking): AsyncGenerator<FoundSource> {
  const { files, cwd, stdin, problems, excluded, signal } = looking;
  const shownList = name === '-' ? 'Standard input' : shownAsWritten(name);
  const chunks = name === '-' ? stdin : await openInput(files, resolveName(name, cwd) ?? name, signal);
  if (!chunks) throw new Error('No standard input was given.');
  if ('problem' in chunks) {
    problems.add('SOURCE_NOT_FOUND', `${shownList} ${chunks.problem}`);
    return;
  }
  const paths = orElse(readPathList(chunks, shownList, looking), () => {
    looking.warnings.add('NO_SOURCES', `${shownList} lists no files.`);
    return undefined;
  });
  for await (const file of paths) {
    if (typeof file !== 'string') {
      yield file;
      continue;
    }
    const uri = resolveName(file, cwd);
    if (uri === undefined) {
      yield noFile(shownAsWritten(file), 'ROW_INVALID', `${shownList}: ${notAName(file)}`);
      continue;
    }
    const relative = isInside(cwd, uri) ? relativeTo(cwd, uri) : lastSegment(uri);
    const dir = path.posix.dirname(relative);
    if (excluded(relative, file)) continue;
    yield { uri, shown: shownAsWritten(file), dir: dir === '.' ? '' : dir, how: 'listed' };
  }
}

const maxPathBytes = 16 * 1024;
/** More than the longest path, so that it contains a separator. */
const headBytes = 2 * maxPathBytes;

/**
 * The paths of a list, one per line, or NUL-terminated (as from `find -print0`) if its beginning holds a NUL. Skips empty lines. An
 * invalid path becomes a refusal; a name that is not UTF-8, which no row can hold, is left out.
 */
async function* readPathList(
  chunks: AsyncIterable<Buffer>,
  name: string,
  { unread }: Looking,
): AsyncGenerator<string | FoundSource> {
  const { head, all } = await peek(withoutMark(chunks), (seen) => seen.length >= headBytes || seen.includes(0));
  const separator = head.includes(0) ? 0 : undefined;
  const what = separator === 0 ? 'path' : 'line';
  const lines = readLines(all, { maxLineBytes: maxPathBytes, ...(separator !== undefined && { separator }) });
  for await (const { number: line, bytes: pathBytes, tooLong } of lines) {
    const problem = (text: string) => noFile('', 'ROW_INVALID', `${name} ${what} ${line} ${text}`);
    const path = decodeText(pathBytes);
    if (tooLong) yield problem('is longer than a path can be. Write one path a line.');
    else if (path === undefined) {
      const shown = printable(Buffer.from(pathBytes).toString('latin1'));
      unread.add(
        'SOURCE_UNUSABLE',
        `${name} ${what} ${line} (${shown}) is not UTF-8. It is left out: rename the file.`,
      );
    } else if (path.includes('\0')) yield problem('holds a NUL byte. End all paths with one, or none.');
    else if (path !== '') yield path;
  }
}

/** The result would have the same name, and be refused. */
const unfitName = 'has a control character in its name; rename it';
/** Keys of object stores may contain these segments, but in a URI they mean another folder. */
const dots = new Set(['.', '..']);
const dotsAsName = 'has a segment of dots in its key; rename it';
/** Folder for the runs of batches whose files are in a store. */
const runsFolder = '.fileconv';

interface Walk {
  folder: string;
  /** As typed. */
  shown: string;
  /** Depth of the search; 1 is the folder alone. */
  maxDepth: number;
  /** Includes names that begin with a dot. Default: only in a store, where a dot has no meaning. */
  hidden?: boolean;
  /** Called with the path relative to the folder, with `/`. Default: every file. */
  matches?: (relative: string) => boolean;
}

/** Files of a folder in the order of the store. Leaves out hidden files, folders of runs, and suspect results. */
async function* walkFolder(
  { folder, shown: named, maxDepth, hidden = !isLocal(folder), matches }: Walk,
  { files, excluded, skippedFolders, warnings, unread, signal }: Looking,
): AsyncGenerator<FoundSource> {
  const onUnreadable = (relative: string, reason: string, isTwice = false) =>
    (isTwice ? warnings : unread).add('SOURCE_UNUSABLE', `${printable(shownAs(relative))} ${reason}. It is left out.`);
  const shownAs = (relative: string) => showIn(named, relative);
  const isWanted = (relative: string) =>
    (hidden ? lastOf(relative) !== runsFolder : !lastOf(relative).startsWith('.')) &&
    !excluded(relative, shownAs(relative));
  const isSource = (relative: string) =>
    isWanted(relative) && !relative.endsWith(suspectSuffix) && (matches?.(relative) ?? true);
  const isUnfit = (relative: string) => {
    const name = lastOf(relative);
    const why = dots.has(name) ? dotsAsName : holdsControlCharacter(name) ? unfitName : undefined;
    if (why !== undefined) onUnreadable(relative, why);
    return why !== undefined;
  };
  const isSkipped = async (subfolder: string) => {
    if (skippedFolders.has(subfolder) || !isLocal(subfolder)) return skippedFolders.has(subfolder);
    const found = await files.look(subfolder);
    return found.kind === 'folder' && skippedFolders.has(found.identity);
  };
  const walked = files.walk(folder, {
    maxDepth,
    async enters(relative) {
      const subfolder = asFolder(within(folder, relative));
      if (!isWanted(relative) || (await isSkipped(subfolder)) || (await isRunFolder(files, subfolder))) return false;
      return !isUnfit(relative);
    },
    onUnreadable(relative, reason, isTwice) {
      // At maximum depth no folder would be entered, so only a file can be lost.
      const isFile = relative.split('/').length === maxDepth;
      const isLost = isWanted(relative) && (!isFile || (matches?.(relative) ?? true));
      if (relative === '' || isLost) onUnreadable(relative, reason, isTwice);
    },
    signal,
  });
  for await (const { uri: walkedUri, relative, found } of walked) {
    if (!isSource(relative) || isUnfit(relative)) continue;
    const dir = relative.slice(0, Math.max(relative.lastIndexOf('/'), 0));
    // Spelled like all other URIs; a store may escape differently.
    const uri = isLocal(folder) ? walkedUri : within(folder, relative);
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
function createExclusion(patterns: readonly string[]): Exclusion {
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

export interface FoundSource {
  /** Empty if unknown. */
  uri: string;
  /** Why it can't be converted. */
  refusal?: Finding;
  /** Absent if it was not looked at yet. */
  found?: FoundFile;
  /** The name in messages, derived from what was typed. */
  shown: string;
  /** The file's folder relative to the named one, mirrored in the output folder; empty for the named folder itself. */
  dir: string;
  /** `named`: on the command line; `listed`: in a list of files; `found`: in a folder or by a pattern. */
  how: 'named' | 'listed' | 'found';
}
