import { readFile, stat } from 'node:fs/promises';
import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import { ConfigError } from './errors';
import type { Environment, Layer } from './layers';
import { variablePartOf } from './schema';

/** Where a secret is. The secret itself is never part of the configuration. */
export type SecretSource = { from: 'environment'; variable: string } | { from: 'file'; file: string };

export interface AppProfile {
  name: string;
  baseUrl: string;
  appId: string;
  token: SecretSource;
}

const tokenKeys = ['token_env', 'token_file'] as const;

/**
 * Leaves one source of the token for each app: the environment's replaces the file's, whichever key each used.
 * More than one in the same place, or none at all, is a problem.
 */
export function resolveTokenSources(values: Layer['values'], appNames: readonly string[]): string[] {
  const problems: string[] = [];
  for (const name of appNames) {
    const given = tokenKeys.flatMap((key) => {
      const value = values.get(`apps.${name}.${key}`);
      return value === undefined ? [] : [{ key, origin: value.origin }];
    });
    const fromEnvironment = given.filter(({ origin }) => origin.source === 'environment');
    if (fromEnvironment.length > 0) {
      for (const { key, origin } of given) if (origin.source === 'file') values.delete(`apps.${name}.${key}`);
    }
    const [first, second] = fromEnvironment.length > 0 ? fromEnvironment : given;
    if (first && second) {
      const names =
        first.origin.source === 'environment'
          ? `${first.origin.where} and ${second.origin.where} both say where`
          : `${first.origin.where}: apps.${name}.token_env and apps.${name}.token_file both say where`;
      problems.push(`${names} the token of app "${name}" is; keep one`);
    }
    if (!first) {
      problems.push(
        `app "${name}" has no token: set token_env or token_file in [apps.${name}], or FILECONV_APPS_${variablePartOf(name)}_TOKEN`,
      );
    }
  }
  return problems;
}

/**
 * The token of an app, from its variable or its file, without surrounding white space.
 *
 * @throws ConfigError when it is missing, empty, or holds what no HTTP header can carry; the message never holds it.
 */
export async function readAppToken(
  { name, token: source }: Pick<AppProfile, 'name' | 'token'>,
  env: Environment,
  onWarning: (message: string) => void = () => undefined,
): Promise<string> {
  const what = `The token of app "${name}"`;
  const cure = 'create it with the token inside, readable by you only';
  const token = (await readSecret(source, { what, cure, env, onWarning })).trim();
  const refuse = (problem: string) => new ConfigError([`${what}: ${placeOf(source)} ${problem}`]);
  if (token === '') throw refuse('is empty; put the token there');
  // With a line break, fetch would quote the token in its error message.
  if (!/^[\x21-\x7e]+$/.test(token)) throw refuse('holds more than one word of ASCII; put only the token there');
  return token;
}

interface SecretReading {
  /** Begins a sentence: `The callback key`. */
  what: string;
  cure: string;
  env: Environment;
  onWarning: (message: string) => void;
}

/** Warns about a file that others can read. @throws ConfigError */
export async function readSecret(source: SecretSource, reading: SecretReading): Promise<string> {
  const { what, cure, env, onWarning } = reading;
  if (source.from === 'environment') {
    const text = env[source.variable];
    if (text === undefined)
      throw new ConfigError([`${what}: ${placeOf(source)} is not set; export it where this runs`]);
    return text;
  }
  const { file } = source;
  try {
    const text = await readFile(file, 'utf8');
    if (await isForOthers(file)) {
      onWarning(`${what}: others can read the file ${file}; run: chmod 600 ${file}`);
    }
    return text;
  } catch (error) {
    const code = systemErrorCode(error) ?? 'unknown error';
    if (code === 'EISDIR')
      throw new ConfigError([`${what}: ${file} is a folder; name the file in it`], { cause: error });
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new ConfigError([`${what}: the file ${file} ${reason}; ${cure}`], { cause: error });
  }
}

export function placeOf(source: SecretSource): string {
  return source.from === 'environment' ? `the variable ${source.variable}` : `the file ${source.file}`;
}

/** A mounted secret belongs to another user, who gives it to this one by its group. Windows has no such permission bits. */
async function isForOthers(file: string): Promise<boolean> {
  const { mode, uid } = await stat(file);
  return process.platform !== 'win32' && (mode & (uid === process.getuid?.() ? 0o077 : 0o027)) !== 0;
}
