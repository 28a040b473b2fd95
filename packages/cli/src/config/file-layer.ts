import { readFile } from 'node:fs/promises';
import { types } from 'node:util';
import { parse, TomlError } from 'smol-toml';
import { z } from 'zod';
import { ConfigError } from './errors';
import { appKeys, didYouMean, keysOfSection, topLevelNames, variablePartOf } from './known-keys';
import { emptyLayer } from './layers';
import type { Layer, Origin } from './layers';
import { appNamePattern } from './schema';

const tableSchema = z.record(z.string(), z.unknown());

/**
 * The values of a configuration file, with a problem for each name that means nothing.
 *
 * @throws ConfigError when the file cannot be read or is no TOML.
 */
export async function readConfigFile(file: string): Promise<Layer> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    throw new ConfigError([`${file}: the configuration file cannot be read: ${reasonOf(error)}`], { cause: error });
  }
  try {
    return layerOf(parse(content), file);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The rest of the message draws the line itself, and that line may hold a token that somebody pasted.
    const reason = error.message.split('\n')[0]?.replace('Invalid TOML document: ', '') ?? 'unreadable';
    throw new ConfigError([
      `${file}:${error.line}:${error.column}: not valid TOML: ${reason}; correct that line, or name another file with --config`,
    ]);
  }
}

function layerOf(document: object, file: string): Layer {
  const origin: Origin = { source: 'file', where: file };
  const layer = emptyLayer();
  const refuse = (message: string) => layer.problems.push(`${file}: ${message}`);
  const take = (value: unknown, prefix: string, known: readonly string[]) => {
    const table = tableSchema.safeParse(value);
    if (!table.success) {
      refuse(`${prefix} must be a table: [${prefix}]`);
      return;
    }
    for (const [key, child] of Object.entries(table.data)) {
      if (known.includes(key)) layer.values.set(`${prefix}.${key}`, { value: child, origin });
      else refuse(`unknown key ${prefix}.${key}${didYouMean(key, known)}`);
    }
  };

  for (const [name, value] of Object.entries(document) as [string, unknown][]) {
    const keys = keysOfSection.get(name);
    if (name === 'default_app') layer.values.set(name, { value, origin });
    else if (name === 'apps') takeApps(value);
    else if (keys !== undefined) take(value, name, keys);
    else refuse(`unknown name ${name}${didYouMean(name, topLevelNames)}`);
  }
  return layer;

  function takeApps(value: unknown): void {
    const apps = tableSchema.safeParse(value);
    if (!apps.success) {
      refuse('apps must be a table: [apps.NAME]');
      return;
    }
    const byVariable = new Map<string, string>();
    for (const [name, profile] of Object.entries(apps.data)) {
      if (!appNamePattern.test(name)) {
        refuse(`[apps."${name}"]: the name of an app may hold letters, digits, "-" and "_" only`);
        continue;
      }
      const twin = byVariable.get(variablePartOf(name));
      if (twin !== undefined) refuse(`[apps.${name}] and [apps.${twin}] share their variables' names; rename one`);
      byVariable.set(variablePartOf(name), name);
      take(withoutToken(name, profile), `apps.${name}`, appKeys);
    }
  }

  function withoutToken(name: string, profile: unknown): unknown {
    const table = tableSchema.safeParse(profile);
    if (!table.success || !('token' in table.data)) return profile;
    refuse(
      `apps.${name}.token must not stand in this file, which is shared and backed up: use token_env = "VARIABLE" or token_file = "PATH", and replace the token if others could read it`,
    );
    return Object.fromEntries(Object.entries(table.data).filter(([key]) => key !== 'token'));
  }
}

function reasonOf(error: unknown): string {
  const code = types.isNativeError(error) && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') {
    return 'there is no such file; correct its path in --config or FILECONV_CONFIG, or leave that out';
  }
  if (code === 'EISDIR') return 'it is a directory; name a file in it with --config';
  if (code === 'EACCES') return 'permission denied; make it readable, or name another file with --config';
  return types.isNativeError(error) ? error.message : String(error);
}
