import { stat } from 'node:fs/promises';
import { shellWord, whyUnreadable } from 'temporal-file-conversion/messages';
import { readSetting } from 'temporal-file-conversion/storage';
import { ConfigError } from './errors';
import type { Environment, Origin } from './sources';
import { variablePartOf } from './schema';

/** The place of a secret. The secret itself is never part of the configuration. */
export type SecretSource = { from: 'environment'; variable: string } | { from: 'file'; file: string };

export interface ConfiguredApp {
  name: string;
  baseUrl: string;
  appId: string;
  token: SecretSource;
}

export function tokenProblems(appNames: readonly string[], origins: Readonly<Record<string, Origin>>): string[] {
  return appNames.flatMap((name) => {
    const [first, second] = ['token_env', 'token_file'].flatMap((key) => {
      const origin = origins[`apps.${name}.${key}`];
      if (!origin) return [];
      return [origin.source === 'file' ? `${origin.where}: apps.${name}.${key}` : origin.where];
    });
    if (first === undefined) {
      return `app "${name}" has no token: set token_env or token_file in [apps.${name}], or FILECONV_APPS_${variablePartOf(name)}_TOKEN`;
    }
    if (second === undefined) return [];
    return `${first} and ${second} both say where the token of app "${name}" is; keep one`;
  });
}

/**
 * Reads the token of an app from its variable or file, without surrounding white space.
 *
 * @throws ConfigError if it is missing, empty, or can't go into an HTTP header; the message never contains it.
 */
export async function readAppToken(
  { name, token: source }: Pick<ConfiguredApp, 'name' | 'token'>,
  env: Environment,
  onWarning: (message: string) => void = () => undefined,
): Promise<string> {
  const what = `The token of app "${name}"`;
  const fix = 'create it with the token inside, readable by you only';
  const token = (await readSecret(source, { what, fix, env, onWarning })).trim();
  const refuse = (problem: string) => new ConfigError([`${what}: ${secretPlace(source)} ${problem}`]);
  if (token === '') throw refuse('is empty; put the token there');
  // If the token had a line break, fetch would quote it in its error message.
  if (!/^[\x21-\x7e]+$/.test(token)) throw refuse('holds more than one word of ASCII; put only the token there');
  return token;
}

interface SecretReading {
  /** Begins a sentence: `The callback key`. */
  what: string;
  fix: string;
  env: Environment;
  onWarning: (message: string) => void;
}

/** Warns about a file that others can read. @throws ConfigError */
export async function readSecret(source: SecretSource, reading: SecretReading): Promise<string> {
  const { what, fix, env, onWarning } = reading;
  if (source.from === 'environment') {
    const text = env[source.variable];
    if (text === undefined)
      throw new ConfigError([`${what}: ${secretPlace(source)} is not set; export it where this runs`]);
    return text;
  }
  const { file } = source;
  try {
    const text = await readSetting(file);
    if (await isForOthers(file)) {
      onWarning(`${what}: others can read the file ${file}; run: chmod 600 ${shellWord(file)}`);
    }
    return text;
  } catch (error) {
    throw new ConfigError([`${what}: the file ${file} cannot be read: ${whyUnreadable(error)}; ${fix}`], {
      cause: error,
    });
  }
}

export function secretPlace(source: SecretSource): string {
  return source.from === 'environment' ? `the variable ${source.variable}` : `the file ${source.file}`;
}

/** A mounted secret belongs to another user and is readable through the group. Windows has no such permission bits. */
async function isForOthers(file: string): Promise<boolean> {
  const { mode, uid } = await stat(file);
  return process.platform !== 'win32' && (mode & (uid === process.getuid?.() ? 0o077 : 0o027)) !== 0;
}
