import { readFile, stat } from 'node:fs/promises';
import { types } from 'node:util';
import type { AppProfile } from './config';
import type { Environment } from './environment-layer';
import { ConfigError } from './errors';
import { Secret } from './secret';

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
  // A line break in it would reach fetch's own error message, token and all.
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
  // Windows keeps no such bits.
  if (process.platform === 'win32') return;
  const { mode } = await stat(file);
  if ((mode & 0o077) !== 0) {
    onWarning(`The token of app "${name}": others can read the file ${file}; run: chmod 600 ${file}`);
  }
}
