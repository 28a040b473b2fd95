import { constants, type BigIntStats } from 'node:fs';
import { access, lstat, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { explainUnreadable } from 'temporal-file-conversion/internal/batch/contents';
import { comparablePath } from 'temporal-file-conversion/internal/batch/plan/conflicts';
import { asFolder, within, escapeQuerySigns } from 'temporal-file-conversion/internal/batch/uris';
import {
  credentialsProblem,
  holdsCredentials,
  lastSegment,
  withoutSecrets,
  type OnExisting,
} from 'temporal-file-conversion/internal/shared/job';
import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import { makeSafeName } from 'temporal-file-conversion/internal/storage/file-name';
import { throwIfAny } from '../command-error';

/** Standard input among the files, and standard output as `--out`. */
export const piped = '-';

export interface ConvertInput {
  /** As it was typed, without the query of a URL: that of a signed one is a secret. */
  file: string;
  /** An absolute path, or a URI, whose file only the worker looks at. */
  location: string;
  /** Lower-case extension without the dot; empty when there is none. */
  extension: string;
  /** Folder relative to the named one, which `--out` mirrors; absent for a file that was named itself. */
  dir?: string;
}

/**
 * Looks at every file before anything is started.
 * @throws CommandError with a line for every file that can't be used.
 */
export async function checkInputs(
  files: readonly { typed: string; dir?: string }[],
  cwd: string,
): Promise<ConvertInput[]> {
  const checks = await Promise.all(
    files.map(async ({ typed, dir }) => {
      const location = toLocation(typed, cwd);
      const file = isUri(location) ? withoutSecrets(location) : typed;
      const extension = path.extname(nameOf(location)).slice(1).toLowerCase();
      const problem = await problemOf(location);
      return { input: { file, location, extension, ...(dir !== undefined && { dir }) }, problem };
    }),
  );
  throwIfAny(
    'INPUT_UNUSABLE',
    checks.flatMap(({ input: { file, dir }, problem }) => {
      if (problem === undefined) return [];
      return [dir === undefined ? `${file} ${problem}` : `${file} ${problem} Leave it out with --exclude.`];
    }),
  );
  return checks.map(({ input }) => input);
}

/** A file of a store that is not this machine's disk. */
export function isUri(location: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(location);
}

export function toLocation(typed: string, cwd: string): string {
  if (!isUri(typed)) return path.resolve(cwd, typed);
  const uri = escapeQuerySigns(typed);
  return /^file:/i.test(uri) ? fileURLToPath(uri) : uri;
}

function nameOf(location: string): string {
  return isUri(location) ? makeSafeName(lastSegment(location)) : path.basename(location);
}

async function problemOf(file: string): Promise<string | undefined> {
  if (isUri(file)) return holdsCredentials(file) ? credentialsProblem : undefined;
  try {
    const found = await stat(file);
    if (!found.isFile()) return 'is not a regular file. Copy its contents into a file first.';
    if (found.size === 0) return 'is empty. There is nothing to convert.';
    await access(file, constants.R_OK);
    return undefined;
  } catch (error) {
    return explainUnreadable(systemErrorCode(error) ?? String(error));
  }
}

export interface Target {
  to: string;
  extension: string;
}

export interface PlannedResult {
  input: ConvertInput;
  to: string;
  /** Absolute path, or URI. */
  destination: string;
}

interface PlaceRules {
  cwd: string;
  onExisting: OnExisting;
  /** Whether the worker writes as this user: only then does it matter what this user may write. */
  writtenByUs: boolean;
}

/**
 * Decides where each result goes, and finds what would prevent that, before anything is started.
 * @param options.out `--out` as it was typed.
 * @throws CommandError with a line for each problem.
 */
export async function planResults(
  inputs: readonly ConvertInput[],
  options: PlaceRules & { out: string | undefined; targets: readonly Target[] },
): Promise<{ results: PlannedResult[]; existing: string[] }> {
  const { out, targets } = options;
  const unplaced = inputs.filter(({ location }) => out === undefined && /^https?:/i.test(location));
  throwIfAny(
    'DESTINATION_UNUSABLE',
    unplaced.map(({ file }) => `${file} can only be read. Say where its result goes: --out FOLDER.`),
  );
  const results = inputs.flatMap((input) =>
    targets.map((target) => ({ input, to: target.to, destination: destinationOf(input, target, options) })),
  );
  return { results, existing: await checkResults(results, options) };
}

/**
 * @returns the names of results that are there, though none may be.
 * @throws CommandError with a line for each problem.
 */
export async function checkResults(results: readonly PlannedResult[], options: PlaceRules): Promise<string[]> {
  throwIfAny('DESTINATION_UNUSABLE', collisions(results, options.cwd));
  throwIfAny('DESTINATION_UNUSABLE', await folderProblems(results, options));
  const { problems, existing } = await existingResults(results, options);
  throwIfAny('DESTINATION_UNUSABLE', problems);
  if (results.length === 1) throwIfAny('DESTINATION_UNUSABLE', explainExisting(existing));
  return existing;
}

export function explainExisting([first, ...others]: readonly string[]): string[] {
  if (first === undefined) return [];
  const results = others.length === 1 ? 'result' : 'results';
  const names = others.length === 0 ? `${first} exists` : `${first} and ${others.length} more ${results} exist`;
  return [`${names} already. Say what to do: --on-existing skip, overwrite or rename; or choose an --out folder.`];
}

function destinationOf(
  { location, dir = '' }: ConvertInput,
  { extension }: Target,
  { cwd, out }: { cwd: string; out: string | undefined },
): string {
  const name = `${path.parse(nameOf(location)).name}.${extension}`;
  if (out === undefined) return placeIn(location.replace(/[^/\\]*$/, ''), name);
  return placeIn(toLocation(out, cwd), path.posix.join(dir, name));
}

function placeIn(folder: string, relative: string): string {
  return isUri(folder) ? within(asFolder(folder), relative) : path.join(folder, relative);
}

/** Two inputs with one result. Names that differ only in case count as one: some file systems confuse them. */
function collisions(results: readonly PlannedResult[], cwd: string): string[] {
  const takenBy = new Map<string, PlannedResult>();
  return results.flatMap((placed) => {
    const { input, to, destination } = placed;
    const key = isUri(destination) ? destination : comparablePath(destination);
    const other = takenBy.get(key);
    takenBy.set(key, placed);
    if (!other) return [];
    const result = shownPath(destination, cwd);
    if (other.input === input) {
      return [
        `${input.file} would become ${result} as ${other.to} and as ${to}. Convert it in two commands with different --out folders.`,
      ];
    }
    if (other.input.location === input.location) return [`${input.file} is named twice. Name it once.`];
    return [
      `${other.input.file} and ${input.file} would both become ${result}. Convert them in two commands with different --out folders.`,
    ];
  });
}

async function folderProblems(results: readonly PlannedResult[], options: PlaceRules): Promise<string[]> {
  const local = results.filter(({ destination }) => !isUri(destination));
  const folders = [...new Set(local.map(({ destination }) => path.dirname(destination)))];
  const problems = await Promise.all(
    folders.map(async (folder) => {
      const problem = await folderProblem(folder, options.writtenByUs);
      return problem === undefined ? [] : [`${shownPath(folder, options.cwd)} ${problem}`];
    }),
  );
  return problems.flat();
}

/** A folder that does not exist yet will be made, so the nearest existing one is checked. */
async function folderProblem(folder: string, writtenByUs: boolean): Promise<string | undefined> {
  let nearest = folder;
  try {
    while (!(await find(nearest)) && path.dirname(nearest) !== nearest) nearest = path.dirname(nearest);
    if (!(await stat(nearest)).isDirectory()) {
      return nearest === folder
        ? 'is not a folder. Name a folder with --out.'
        : `cannot be made: ${nearest} is not a folder. Name another with --out.`;
    }
    if (writtenByUs) await access(nearest, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return `cannot be written to: ${reasonOf(error)}. Name another folder with --out.`;
  }
}

async function existingResults(
  results: readonly PlannedResult[],
  options: PlaceRules,
): Promise<{ problems: string[]; existing: string[] }> {
  const { cwd, onExisting } = options;
  const inputOf = new Map<string, ConvertInput>();
  for (const { input } of results.filter((each) => !isUri(each.input.location))) {
    inputOf.set(identity(await stat(input.location, { bigint: true })), input);
  }
  const problems: string[] = [];
  const existing: string[] = [];
  for (const { input, destination } of results.filter((each) => !isUri(each.destination))) {
    const result = shownPath(destination, cwd);
    try {
      const found = await find(destination);
      if (!found) continue;
      // Also through a link: inputs are never changed.
      const source = inputOf.get(identity(await stat(destination, { bigint: true }).catch(() => found)));
      if (source && onExisting !== 'rename') {
        const what = source === input ? `${input.file} would be replaced by its own result` : '';
        const which = `the result of ${input.file} would replace ${source.file}, which is to be converted too`;
        problems.push(`${what || which}. Choose another folder with --out.`);
      } else if (found.isDirectory() && onExisting !== 'rename') {
        problems.push(`${result}, which is to be the result of ${input.file}, is a folder. Choose another with --out.`);
      } else if (onExisting === 'fail') existing.push(result);
    } catch (error) {
      problems.push(`${result}, the result of ${input.file}, cannot be written: ${reasonOf(error)}.`);
    }
  }
  return { problems, existing };
}

function identity({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

async function find(file: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(file, { bigint: true });
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT' || systemErrorCode(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENAMETOOLONG: 'the name is too long for the file system',
  ENOENT: 'a symbolic link leads nowhere',
};

function reasonOf(error: unknown): string {
  return reasons[systemErrorCode(error) ?? ''] ?? (error instanceof Error ? error.message : String(error));
}

export function shownPath(file: string, cwd: string): string {
  if (isUri(file)) return file;
  const relative = path.relative(cwd, file);
  if (relative === '') return '.';
  // From far away the absolute path reads better than a row of dots.
  return relative.startsWith(path.join('..', '..')) ? file : relative;
}
