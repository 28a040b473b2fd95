import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { explainUnreadable } from 'temporal-file-conversion/internal/batch/open-input';
import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import { throwIfAny } from '../command-error';

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
