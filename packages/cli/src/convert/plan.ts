import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  asFolder,
  escapeQuerySigns,
  explainUnreadable,
  isOfWeb,
  isUri,
  uriOfPath,
  within,
} from 'temporal-file-conversion/batch';
import {
  credentialsProblem,
  holdsCredentials,
  lastSegment,
  type OnExisting,
  withoutSecrets,
} from 'temporal-file-conversion/job';
import { systemErrorCode } from 'temporal-file-conversion/messages';
import { createLocalFiles, makeSafeName, StorageError } from 'temporal-file-conversion/storage';
import { CommandError } from '../command-error';

/** Standard input among the files, and standard output as `--out`. */
export const piped = '-';

export interface TypedInput {
  /** As typed, but without the query of a URL, which may be a signature. */
  file: string;
  /** An absolute path, or a URI whose file only the worker looks at. */
  location: string;
  /** Lower-case extension without the dot; empty if there is none. */
  extension: string;
}

export interface PlannedResult {
  input: TypedInput;
  to: string;
  destination: string;
}

/** Whether it is a folder or a pattern. For a URI the spelling decides, because only the worker looks there. */
export async function isSearched(typed: string, cwd: string): Promise<boolean> {
  const location = toLocation(typed, cwd);
  if (isUri(location)) return !isOfWeb(location) && /\/$|[*[{(]/.test(typed);
  const found = await stat(location).catch(() => undefined);
  return found ? found.isDirectory() : /[*?[{(]/.test(typed);
}

/** Checks the file before anything is started. @throws CommandError if it can't be used. */
export async function checkInput(typed: string, cwd: string): Promise<TypedInput> {
  const location = toLocation(typed, cwd);
  const file = isUri(location) ? withoutSecrets(location) : typed;
  const problem = await problemOf(location);
  if (problem !== undefined) throw new CommandError('INPUT_UNUSABLE', [`${file} ${problem}`]);
  return { file, location, extension: path.extname(nameOf(location)).slice(1).toLowerCase() };
}

/** The absolute path or, for a URI of another store, the URI. @throws CommandError for a `file:` URI that names no path. */
export function toLocation(typed: string, cwd: string): string {
  if (!isUri(typed)) return path.resolve(cwd, typed);
  const uri = escapeQuerySigns(typed);
  if (!/^file:/i.test(uri)) return uri;
  try {
    return fileURLToPath(uri);
  } catch (error) {
    throw new CommandError('INPUT_UNUSABLE', [`${typed} names no file here: ${(error as Error).message}`], {
      cause: error,
    });
  }
}

function nameOf(location: string): string {
  return isUri(location) ? makeSafeName(lastSegment(location)) : path.basename(location);
}

async function problemOf(file: string): Promise<string | undefined> {
  if (isUri(file)) return holdsCredentials(file) ? credentialsProblem : undefined;
  try {
    const found = await stat(file);
    if (found.isDirectory()) return 'is a folder. Name a file in it.';
    if (!found.isFile()) return 'is not a regular file. Copy its contents into a file first.';
    if (found.size === 0) return 'is empty. There is nothing to convert.';
    await access(file, constants.R_OK);
    return undefined;
  } catch (error) {
    return explainUnreadable(systemErrorCode(error) ?? String(error));
  }
}

/** `out`: the folder as typed. Default: the file's folder. @throws CommandError */
export function destinationOf(
  { file, location }: TypedInput,
  { cwd, out, extension }: { cwd: string; out: string | undefined; extension: string },
): string {
  if (out === undefined && isOfWeb(location)) {
    throw unusable(`${file} can only be read. Say where its result goes: --out FOLDER.`);
  }
  const folder = out === undefined ? location.replace(/[^/\\]*$/, '') : toLocation(out, cwd);
  const name = `${path.parse(nameOf(location)).name}.${extension}`;
  return isUri(folder) ? within(asFolder(folder), name) : path.join(folder, name);
}

/**
 * Checks, before anything is started, that the result can be written.
 * @param rules.writtenByUs whether the worker runs as this user: only then do this user's permissions matter.
 * @throws CommandError
 */
export async function checkResult(
  { input, destination }: PlannedResult,
  { cwd, onExisting, writtenByUs }: { cwd: string; onExisting: OnExisting; writtenByUs: boolean },
): Promise<void> {
  if (isUri(destination)) return;
  const result = pathFromHere(destination, cwd);
  const source = isUri(input.location) ? {} : { source: uriOfPath(input.location) };
  const planned = { uri: uriOfPath(destination), suggestedName: '', onExisting, ...source };
  await createLocalFiles()
    .prepareDestination(planned)
    .catch((error: unknown) => {
      if (!(error instanceof StorageError)) throw error;
      const isOfUser = ['EACCES', 'EPERM'].includes(systemErrorCode(error.cause) ?? '');
      if (isOfUser && !writtenByUs) return;
      if (error.code === 'DESTINATION_EXISTS') {
        const choices = '--on-existing skip, overwrite or rename; or choose an --out folder';
        throw unusable(`${result} already exists. Choose what to do: ${choices}.`);
      }
      if (error.code === 'DESTINATION_IS_SOURCE') {
        throw unusable(`${input.file} would be replaced by its own result. Choose another folder with --out.`);
      }
      // A folder was named, perhaps without a trailing slash.
      const isFolder = error.code === 'DESTINATION_IS_DIRECTORY';
      const why = isFolder ? 'it is a folder.' : error.message.slice(error.message.indexOf(': ') + 2);
      throw unusable(
        `${result}, the result of ${input.file}, can't be written: ${why} Choose another place with --out.`,
      );
    });
}

function unusable(problem: string): CommandError {
  return new CommandError('DESTINATION_UNUSABLE', [problem]);
}

export function pathFromHere(file: string, cwd: string): string {
  if (isUri(file)) return file;
  const relative = path.relative(cwd, file);
  if (relative === '') return '.';
  // From further away the absolute path is easier to read than a row of dots.
  return relative.startsWith(path.join('..', '..')) ? file : relative;
}
