import { readFile, stat } from 'node:fs/promises';
import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';

/** Where a secret of the configuration is. */
interface KeySource {
  /** Begins a sentence: `The callback key`. */
  what: string;
  from: { variable: string } | { file: string };
}

/**
 * The one of two keys of a section that says where a secret is; undefined when neither does.
 * @throws CommandError when both do.
 */
export function keySource(given: {
  what: string;
  section: string;
  keys: readonly [env: string, file: string];
  env: string | undefined;
  file: string | undefined;
}): KeySource | undefined {
  const { what, section, keys, env, file } = given;
  if (env !== undefined && file !== undefined) {
    const [first, second] = keys.map((key) => `${section}.${key}`);
    const secret = what.charAt(0).toLowerCase() + what.slice(1);
    throw unusable(`${first ?? ''} and ${second ?? ''} both tell of ${secret}; keep one.`);
  }
  if (env !== undefined) return { what, from: { variable: env } };
  return file === undefined ? undefined : { what, from: { file } };
}

export function placeOf({ from }: KeySource): string {
  return 'file' in from ? `the file ${from.file}` : `the variable ${from.variable}`;
}

/**
 * The secret's text, which is masked in logs from then on. Warns about a file that others can read.
 * @param cure what to do when there is no such file.
 * @throws CommandError
 */
export async function readKeySource(context: CommandContext, source: KeySource, cure: string): Promise<string> {
  const text = await read(context, source, cure);
  context.secrets.hideWords(text);
  return text;
}

async function read({ env, output }: CommandContext, source: KeySource, cure: string): Promise<string> {
  const { what, from } = source;
  if ('variable' in from) {
    const text = env[from.variable];
    if (text === undefined) throw unusable(`${what}: ${placeOf(source)} is not set; export it where this runs.`);
    return text;
  }
  const { file } = from;
  try {
    // Windows has no such permission bits.
    if (process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0) {
      output.warn(`${what}: others can read the file ${file}; run: chmod 600 ${file}`);
    }
    return await readFile(file, 'utf8');
  } catch (error) {
    const reason = systemErrorCode(error) === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw unusable(`${what}: the file ${file} ${reason}; ${cure}.`, error);
  }
}

function unusable(problem: string, cause?: unknown): CommandError {
  return new CommandError('INPUT_UNUSABLE', [problem], { cause });
}
