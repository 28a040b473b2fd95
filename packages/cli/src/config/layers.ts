import { readFile } from 'node:fs/promises';
import { parse, TomlError } from 'smol-toml';
import { systemErrorCode, whyUnreadable } from 'temporal-file-conversion/messages';
import { z } from 'zod';
import { ConfigError } from './errors';
import {
  appKeys,
  appNamePattern,
  didYouMean,
  keysOfSection,
  topLevelNames,
  variableOf,
  variablePartOf,
} from './schema';

export interface Origin {
  source: 'file' | 'environment';
  where: string;
}

/** What one source says: values by dotted key in the file's spelling (`worker.task_queue`), and what is wrong with it. */
export interface Layer {
  values: Map<string, { value: unknown; origin: Origin }>;
  problems: string[];
  warnings: string[];
}

export function emptyLayer(): Layer {
  return { values: new Map(), problems: [], warnings: [] };
}

export function toTable(values: Layer['values']): Record<string, unknown> {
  // Without a prototype, whose names an app may have.
  const newTable = () => Object.create(null) as Record<string, unknown>;
  const table = newTable();
  for (const [key, { value }] of values) {
    const path = key.split('.');
    let inner = table;
    for (const name of path.slice(0, -1)) inner = (inner[name] ??= newTable()) as Record<string, unknown>;
    inner[path.at(-1) ?? ''] = value;
  }
  return table;
}

const tableSchema = z.record(z.string(), z.unknown());

/** @throws ConfigError when the file cannot be read or is no TOML. */
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
    // The rest of the message quotes the line, which may hold a pasted token.
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
  const code = systemErrorCode(error);
  if (code === 'ENOENT') {
    return 'there is no such file; correct its path in --config or FILECONV_CONFIG, or leave that out';
  }
  return `${whyUnreadable(error)}; name another file with --config`;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const prefix = 'FILECONV_';
/** Names the file itself; no key. */
const notKeys = ['FILECONV_CONFIG'];
/** What Temporal's Worker Controller tells a worker's pod. */
const controllerVariables = {
  TEMPORAL_DEPLOYMENT_NAME: 'worker.deployment_name',
  TEMPORAL_WORKER_BUILD_ID: 'worker.build_id',
} as const;
const appVariable = /^FILECONV_APPS_(.+)_(BASE_URL|APP_ID|TOKEN_ENV|TOKEN_FILE|TOKEN)$/;

/** The values that variables give. An empty variable counts as unset, as it does for Temporal's own. */
export function readEnvironment(env: Environment, appNamesInFile: readonly string[]): Layer {
  const layer = emptyLayer();
  const keyOfVariable = new Map([['FILECONV_DEFAULT_APP', 'default_app']]);
  for (const [section, keys] of keysOfSection) {
    for (const key of keys) keyOfVariable.set(variableOf(section, key), `${section}.${key}`);
  }

  for (const [variable, key] of Object.entries(controllerVariables)) {
    const content = env[variable];
    const origin: Origin = { source: 'environment', where: variable };
    if (content) layer.values.set(key, { value: content, origin });
  }
  for (const [variable, content] of Object.entries(env)) {
    if (!variable.startsWith(prefix) || notKeys.includes(variable) || !content) continue;
    const origin: Origin = { source: 'environment', where: variable };
    const key = keyOfVariable.get(variable);
    const app = appVariable.exec(variable);
    if (key !== undefined) layer.values.set(key, { value: content, origin });
    else if (app !== null) takeApp(app[1] ?? '', app[2] ?? '', content, origin);
    else layer.warnings.push(`${variable} is ignored: no key has this name${hintFor(variable)}`);
  }
  return layer;

  function takeApp(part: string, suffix: string, content: string, origin: Origin): void {
    const name =
      appNamesInFile.find((each) => variablePartOf(each) === part) ?? part.toLowerCase().replaceAll('_', '-');
    // Only the name of the variable is kept, not the token.
    if (suffix === 'TOKEN') layer.values.set(`apps.${name}.token_env`, { value: origin.where, origin });
    else layer.values.set(`apps.${name}.${suffix.toLowerCase()}`, { value: content, origin });
  }

  function hintFor(variable: string): string {
    if (variable.startsWith('FILECONV_APPS_')) {
      return `; for apps: FILECONV_APPS_<NAME>_<${[...appKeys, 'token'].join('|').toUpperCase()}>`;
    }
    const hint = didYouMean(variable, [...keyOfVariable.keys()]);
    return hint.startsWith('; known') ? '' : hint;
  }
}
