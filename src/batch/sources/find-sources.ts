import path from 'node:path';
import picomatch from 'picomatch';
import { lastSegment } from '../../shared/job';
import { printable } from '../../shared/wording';
import type { FileStore } from '../../storage/file-store';
import { openInput } from '../contents';
import { notAName } from '../destinations/resolve';
import { readLines, peek } from '../lines';
import { decodeText } from '../manifest/decode-text';
import type { Findings } from '../plan/findings';
import { asFolder, isInside, isLocal, isUri, relativeTo, resolveName, shownAsWritten } from '../uris';
import { createExclusion, walkFolder, type Exclusion, type FoundSource } from './walk-folder';

export interface SourceSelection {
  /** Files, folders, patterns such as `scans/*.tif` in quotes, and `-` for a list of files on standard input. */
  sources: readonly string[];
  /** Also search subfolders of named folders. Default: no. A pattern has its own depth. */
  recursive?: boolean;
  /** Patterns of files and folders to leave out, matched against names, or against paths if they contain a slash. */
  exclude?: readonly string[];
  /** Only files changed since then, in milliseconds since the epoch. */
  modifiedSince?: number;
  /** A file with one path per line, or NUL-terminated; relative to the current folder. `-` for standard input. */
  filesFrom?: string;
}

export interface SourceLookup {
  files: FileStore;
  /** Folder that what is typed starts from. */
  cwd: string;
  /** Read if `-` is named. */
  stdin?: AsyncIterable<Buffer> | undefined;
  /** Folders that are not searched unless they are named. */
  skippedFolders: ReadonlySet<string>;
  /** For what prevents the batch from running. */
  problems: Findings;
  /** For what is left out. */
  warnings: Findings;
  signal?: AbortSignal | undefined;
}

/** The files in the order in which they were named, those of a folder by name. Files may appear twice. */
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
    else yield* inNamed(named, { ...lookup, excluded, recursive: selection.recursive ?? false });
  }
  if (selection.filesFrom !== undefined) yield* listed(selection.filesFrom, { ...lookup, excluded });
}

interface Looking extends SourceLookup {
  excluded: Exclusion;
}

async function* inNamed(typed: string, looking: Looking & { recursive: boolean }): AsyncGenerator<FoundSource> {
  const { files, cwd, problems, excluded } = looking;
  const uri = resolveName(typed, cwd);
  const named = shownAsWritten(typed);
  if (uri === undefined) {
    problems.add('SOURCE_NOT_FOUND', notAName(typed));
    return;
  }
  const { base, glob, isGlob } = picomatch.scan(named);
  // In a URI a question mark begins a query.
  const isPattern = isGlob && (!isUri(named) || /[*[{(]/.test(named));
  const isPrefix = !isLocal(uri) && uri.endsWith('/');
  const found = isPrefix ? ({ kind: 'folder' } as const) : await files.look(withoutSlash(uri));
  if (found.kind === 'none') {
    if (isPattern && found.reason === 'does not exist') yield* matching(named, { base, glob, looking });
    else problems.add('SOURCE_NOT_FOUND', `${named} ${found.reason}. Check the name and the folder.`);
  } else if (found.kind === 'folder') yield* inFolder(asFolder(uri), named, looking);
  else if (found.kind === 'other') {
    problems.add('SOURCE_UNUSABLE', `${named} is not a regular file. Copy its contents into a file first.`);
  } else if (!excluded(lastSegment(uri), named)) {
    yield { uri: withoutSlash(uri), found, shown: named, dir: '', how: 'named' };
  }
}

async function* inFolder(
  folder: string,
  shown: string,
  looking: Looking & { recursive: boolean },
): AsyncGenerator<FoundSource> {
  const { recursive, warnings } = looking;
  let count = 0;
  for await (const file of walk({ folder, shown, maxDepth: recursive ? Infinity : 1 }, looking)) {
    count += 1;
    yield file;
  }
  const hint = recursive ? '' : ' To look into its folders too, add --recursive.';
  if (count === 0) warnings.add('NO_SOURCES', `${shown} holds no files to convert.${hint}`);
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
  // Braces and brackets may contain slashes.
  const isDeep = /\*\*|[{(]/.test(glob);
  const walked = walk(
    {
      folder: asFolder(resolveName(base, looking.cwd) ?? looking.cwd),
      shown: base,
      maxDepth: isDeep ? Infinity : glob.split('/').length,
      ...(/(^|[/{,(|])\./.test(glob) && { hidden: true }),
      matches,
    },
    looking,
  );
  let count = 0;
  for await (const file of walked) {
    count += 1;
    yield file;
  }
  if (count === 0)
    looking.problems.add('SOURCE_NOT_FOUND', `${pattern} matches no file. Check the pattern and the folder.`);
}

function walk(
  what: { folder: string; shown: string; maxDepth: number; hidden?: boolean; matches?: (relative: string) => boolean },
  { files, excluded, skippedFolders, warnings, signal }: Looking,
): AsyncGenerator<FoundSource> {
  return walkFolder(files, {
    // To a store a name that begins with a dot is like any other.
    hidden: !isLocal(what.folder),
    ...what,
    excluded,
    skippedFolders,
    onUnreadable: (shown, reason) => warnings.add('SOURCE_UNUSABLE', `${shown} ${reason}. It is left out.`),
    signal,
  });
}

/** The files of a list. Missing ones become rows that fail: in a long list one lost file must not stop the rest. */
async function* listed(name: string, looking: Looking): AsyncGenerator<FoundSource> {
  const { files, cwd, stdin, problems, excluded, signal } = looking;
  const shownList = name === '-' ? 'Standard input' : name;
  const chunks = name === '-' ? stdin : await openInput(files, resolveName(name, cwd) ?? name, signal);
  if (!chunks) throw new Error('No standard input was given.');
  if ('problem' in chunks) {
    problems.add('SOURCE_NOT_FOUND', `${name} ${chunks.problem}`);
    return;
  }
  let count = 0;
  for await (const file of readPathList(chunks, {
    name: shownList,
    findings: problems,
    warnings: looking.warnings,
  })) {
    count += 1;
    const uri = resolveName(file, cwd);
    if (uri === undefined) {
      problems.add('ROW_INVALID', `${shownList}: ${notAName(file)}`);
      continue;
    }
    const relative = isInside(cwd, uri) ? relativeTo(cwd, uri) : lastSegment(uri);
    const dir = path.posix.dirname(relative);
    if (excluded(relative, file)) continue;
    yield { uri, shown: shownAsWritten(file), dir: dir === '.' ? '' : dir, how: 'listed' };
  }
  if (count === 0) looking.warnings.add('NO_SOURCES', `${shownList} lists no files.`);
}

const maxPathBytes = 16 * 1024;
/** More than the longest path, so that it contains a separator. */
const headBytes = 2 * maxPathBytes;

/**
 * The paths of a list, one per line, or NUL-terminated (as from `find -print0`) if its beginning holds a NUL. Empty
 * lines are skipped, an invalid path becomes a finding, and a name that is not UTF-8, which no row can hold, a warning.
 */
async function* readPathList(
  chunks: AsyncIterable<Buffer>,
  { name, findings, warnings }: { name: string; findings: Findings; warnings: Findings },
): AsyncGenerator<string> {
  const { head, all } = await peek(chunks, (seen) => seen.length >= headBytes || seen.includes(0));
  const separator = head.includes(0) ? 0 : undefined;
  const what = separator === 0 ? 'path' : 'line';
  const lines = readLines(all, { maxLineBytes: maxPathBytes, ...(separator !== undefined && { separator }) });
  for await (const { number: line, bytes: pathBytes, tooLong } of lines) {
    const problem = (text: string) => findings.add('ROW_INVALID', `${name} ${what} ${line} ${text}`);
    const path = decodeText(pathBytes);
    if (tooLong) problem('is longer than a path can be. Write one path a line.');
    else if (path === undefined) {
      const shown = printable(Buffer.from(pathBytes).toString('latin1'));
      warnings.add(
        'SOURCE_UNUSABLE',
        `${name} ${what} ${line} (${shown}) is not UTF-8. It is left out: rename the file.`,
      );
    } else if (path.includes('\0')) problem('holds a NUL byte. End all paths with one, or none.');
    else if (path !== '') yield path;
  }
}
