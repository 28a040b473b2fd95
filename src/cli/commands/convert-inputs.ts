import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { systemErrorCode } from '../../shared/system-error';
import { usageError } from '../exit';

/** One file that a person wants converted. */
export interface ConvertInput {
  /** As it was typed. */
  file: string;
  path: string;
  /** Lower-case extension without the dot; empty when there is none. */
  extension: string;
}

/**
 * Looks at every file before anything is started.
 * @throws CommandError (2) that lists every file that can't be used, and why.
 */
export async function checkInputs(files: readonly string[], cwd: string): Promise<ConvertInput[]> {
  const checks = await Promise.all(
    files.map(async (file) => {
      const absolute = path.resolve(cwd, file);
      return {
        file,
        path: absolute,
        extension: path.extname(file).slice(1).toLowerCase(),
        problem: await problemOf(absolute),
      };
    }),
  );
  const problems = checks
    .filter((check) => check.problem !== undefined)
    .map((check) => `${check.file}: ${check.problem ?? ''}`);
  if (problems.length > 0) throw usageError(problems.join('\n'));
  return checks;
}

async function problemOf(file: string): Promise<string | undefined> {
  try {
    const found = await stat(file);
    if (found.isDirectory()) return 'is a folder; name the files in it, for example with a pattern like folder/*.docx';
    if (!found.isFile()) return 'is not a regular file';
    if (found.size === 0) return 'is empty';
    await access(file, constants.R_OK);
    return undefined;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'does not exist';
    if (code === 'EACCES' || code === 'EPERM') return 'cannot be read: permission denied';
    return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Where each result goes. Two inputs with one result are an error before anything is started. */
export function planDestinations(
  inputs: readonly ConvertInput[],
  options: { outDir: string | undefined; extension: string },
): Map<ConvertInput, string> {
  const destinations = new Map<ConvertInput, string>();
  const takenBy = new Map<string, ConvertInput>();
  for (const input of inputs) {
    const name = `${path.basename(input.path, path.extname(input.path))}.${options.extension}`;
    const destination = path.join(options.outDir ?? path.dirname(input.path), name);
    // File systems differ in whether case tells names apart: two results that some of them confuse are too close.
    const key = destination.toLowerCase();
    const other = takenBy.get(key);
    if (other) {
      throw usageError(
        `${other.file} and ${input.file} would both become ${destination}. Convert them in two commands with different --out folders.`,
      );
    }
    if (destination === input.path) {
      throw usageError(`${input.file} would be replaced by its own result. Choose another folder with --out.`);
    }
    takenBy.set(key, input);
    destinations.set(input, destination);
  }
  return destinations;
}
