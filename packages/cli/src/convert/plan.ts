import { constants, type BigIntStats } from 'node:fs';
import { access, lstat, stat } from 'node:fs/promises';
import path from 'node:path';
import { explainUnreadable } from 'temporal-file-conversion/internal/batch/contents';
import { comparablePath } from 'temporal-file-conversion/internal/batch/plan/conflicts';
import type { OnExisting } from 'temporal-file-conversion/internal/shared/job';
import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import { throwIfAny } from '../command-error';

export interface ConvertInput {
  /** As it was typed. */
  file: string;
  path: string;
  /** Lower-case extension without the dot; empty when there is none. */
  extension: string;
}

/**
 * Looks at every file before anything is started.
 * @throws CommandError with a line for every file that can't be used.
 */
export async function checkInputs(files: readonly string[], cwd: string): Promise<ConvertInput[]> {
  const checks = await Promise.all(
    files.map(async (file) => {
      const absolute = path.resolve(cwd, file);
      const extension = path.extname(absolute).slice(1).toLowerCase();
      return { input: { file, path: absolute, extension }, problem: await problemOf(absolute) };
    }),
  );
  throwIfAny(
    'INPUT_UNUSABLE',
    checks.flatMap(({ input, problem }) => (problem === undefined ? [] : [`${input.file} ${problem}`])),
  );
  return checks.map(({ input }) => input);
}

async function problemOf(file: string): Promise<string | undefined> {
  try {
    const found = await stat(file);
    if (found.isDirectory()) {
      return 'is a folder. Name the files in it, for example with a pattern like folder/*.docx.';
    }
    if (!found.isFile()) return 'is not a regular file. Copy its contents into a file first.';
    if (found.size === 0) return 'is empty. There is nothing to convert.';
    await access(file, constants.R_OK);
    return undefined;
  } catch (error) {
    return explainUnreadable(systemErrorCode(error) ?? String(error));
  }
}

export interface PlannedJob {
  input: ConvertInput;
  /** Absolute path of the result. */
  destination: string;
}

interface DestinationOptions {
  cwd: string;
  /** `--out` as it was typed. */
  out: string | undefined;
  /** Of the results, without the dot. */
  extension: string;
  onExisting: OnExisting;
  /** Whether the worker writes as this user: only then does it matter what this user may write. */
  writtenByUs: boolean;
}

/**
 * Decides where each result goes, and finds what would prevent that, before anything is started.
 * @throws CommandError with a line for each problem.
 */
export async function planJobs(inputs: readonly ConvertInput[], options: DestinationOptions): Promise<PlannedJob[]> {
  const { cwd, out, extension } = options;
  const jobs = inputs.map((input) => {
    const folder = out === undefined ? path.dirname(input.path) : path.resolve(cwd, out);
    return { input, destination: path.join(folder, `${path.parse(input.path).name}.${extension}`) };
  });
  throwIfAny('DESTINATION_UNUSABLE', collisions(jobs, cwd));
  throwIfAny('DESTINATION_UNUSABLE', await folderProblems(jobs, options));
  throwIfAny('DESTINATION_UNUSABLE', await existingProblems(jobs, options));
  return jobs;
}

/** Two inputs with one result. Names that differ only in case count as one: some file systems confuse them. */
function collisions(jobs: readonly PlannedJob[], cwd: string): string[] {
  const takenBy = new Map<string, ConvertInput>();
  return jobs.flatMap(({ input, destination }) => {
    const key = comparablePath(destination);
    const other = takenBy.get(key);
    takenBy.set(key, input);
    if (!other) return [];
    if (other.path === input.path) return [`${input.file} is named twice. Name it once.`];
    const result = shownPath(destination, cwd);
    return [
      `${other.file} and ${input.file} would both become ${result}. Convert them in two commands with different --out folders.`,
    ];
  });
}

async function folderProblems(jobs: readonly PlannedJob[], options: DestinationOptions): Promise<string[]> {
  const folders = [...new Set(jobs.map(({ destination }) => path.dirname(destination)))];
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

async function existingProblems(jobs: readonly PlannedJob[], options: DestinationOptions): Promise<string[]> {
  const { cwd, onExisting } = options;
  const inputOf = new Map<string, ConvertInput>();
  for (const { input } of jobs) inputOf.set(identity(await stat(input.path, { bigint: true })), input);
  const problems: string[] = [];
  const existing: string[] = [];
  for (const { input, destination } of jobs) {
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
  const [first, ...others] = existing;
  if (first !== undefined) {
    const names = others.length === 0 ? `${first} exists` : `${first} and ${others.length} more results exist`;
    problems.push(
      `${names} already. Say what to do: --on-existing skip, overwrite or rename; or choose an --out folder.`,
    );
  }
  return problems;
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

/** A path as one would type it here. */
export function shownPath(file: string, cwd: string): string {
  const relative = path.relative(cwd, file);
  if (relative === '') return '.';
  // From far away the absolute path reads better than a row of dots.
  return relative.startsWith(path.join('..', '..')) ? file : relative;
}
