import { readFile, stat } from 'node:fs/promises';
import { inspect, types } from 'node:util';
import type { AppProfile } from './config';
import { ConfigError } from './errors';
import { variablePartOf } from './keys';
import type { Environment, Layer } from './layers';

const tokenKeys = ['token_env', 'token_file'] as const;

/**
 * Leaves one source of the token for each app: the environment's replaces the file's, whichever key each used.
 * More than one in the same place, or none at all, is a problem.
 */
export function resolveTokenSources(values: Layer['values'], appNames: readonly string[]): { problems: string[] } {
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
    const chosen = fromEnvironment.length > 0 ? fromEnvironment : given;
    if (chosen.length > 1) {
      const [first, second] = chosen;
      const names =
        first?.origin.source === 'environment'
          ? `${first.origin.where} and ${second?.origin.where ?? ''} both say where`
          : `${first?.origin.where ?? ''}: apps.${name}.token_env and apps.${name}.token_file both say where`;
      problems.push(`${names} the token of app "${name}" is; keep one`);
    }
    if (chosen.length === 0) {
      problems.push(
        `app "${name}" has no token: set token_env or token_file in [apps.${name}], or FILECONV_APPS_${variablePartOf(name)}_TOKEN`,
      );
    }
  }
  return { problems };
}

/**
 * The token of an app, from its variable or its file, without surrounding white space.
 *
 * @throws ConfigError when it is missing, empty, or holds what no HTTP header can carry; the message never holds it.
 */
export async function readAppToken(
  app: Pick<AppProfile, 'name' | 'token'>,
  env: Environment,
  onWarning: (message: string) => void = () => undefined,
): Promise<Secret> {
  const source = app.token;
  const place = source.from === 'environment' ? `the variable ${source.variable}` : `the file ${source.file}`;
  const content = source.from === 'environment' ? env[source.variable] : await readTokenFile(app.name, source.file);
  const refuse = (what: string, fix: string) =>
    new ConfigError([`The token of app "${app.name}": ${place} ${what}; ${fix}`]);
  if (content === undefined) throw refuse('is not set', 'export it where this runs');
  const token = content.trim();
  if (token === '') throw refuse('is empty', 'put the token there');
  // With a line break, fetch would quote the token in its error message.
  if (!/^[\x21-\x7e]+$/.test(token)) throw refuse('holds more than one word of ASCII', 'put only the token there');
  if (source.from === 'file') await warnWhenShared(app.name, source.file, onWarning);
  return new Secret(token);
}

async function readTokenFile(name: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = types.isNativeError(error) && 'code' in error ? String(error.code) : 'unknown error';
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new ConfigError(
      [`The token of app "${name}": the file ${file} ${reason}; create it with the token inside, readable by you only`],
      { cause: error },
    );
  }
}

async function warnWhenShared(name: string, file: string, onWarning: (message: string) => void): Promise<void> {
  // Windows has no such permission bits.
  if (process.platform === 'win32') return;
  const { mode } = await stat(file);
  if ((mode & 0o077) !== 0) {
    onWarning(`The token of app "${name}": others can read the file ${file}; run: chmod 600 ${file}`);
  }
}

/** What is shown in place of a secret. */
export const mask = '********';

/** A text that shows itself as a mask wherever it is printed, logged, serialised or inspected. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for the one place that sends it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [inspect.custom](): string {
    return mask;
  }
}
