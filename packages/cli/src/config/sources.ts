import { parse, TomlError } from 'smol-toml';
import { systemErrorCode, whyUnreadable } from 'temporal-file-conversion/messages';
import { readSetting } from 'temporal-file-conversion/storage';
import { ConfigError } from './errors';
import { appKeys, didYouMean, keysOfSection, variableOf, variablePartOf } from './schema';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Origin {
  source: 'file' | 'environment';
  where: string;
}

type Table = Record<string, unknown>;

/** Unchecked configuration values, and their origins by dotted key in the file's spelling: `worker.task_queue`. */
export interface Draft {
  values: Table;
  origins: Record<string, Origin>;
}

export async function readConfigFile(file: string): Promise<Draft> {
  let content: string;
  try {
    content = await readSetting(file);
  } catch (error) {
    throw new ConfigError([`${file}: the configuration file cannot be read: ${reasonOf(error)}`], { cause: error });
  }
  try {
    const values = parse(content);
    return { values, origins: Object.fromEntries(keysOf(values).map((key) => [key, { source: 'file', where: file }])) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The rest of the message quotes the line, which may hold a pasted token.
    const reason = error.message.split('\n')[0]?.replace('Invalid TOML document: ', '') ?? 'unreadable';
    throw new ConfigError([
      `${file}:${error.line}:${error.column}: not valid TOML: ${reason}; correct that line, or name another file with --config`,
    ]);
  }
}

function keysOf(table: Table): string[] {
  return Object.entries(table).flatMap(([name, value]) =>
    isTable(value) ? keysOf(value).map((key) => `${name}.${key}`) : [name],
  );
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function reasonOf(error: unknown): string {
  const code = systemErrorCode(error);
  if (code === 'ENOENT') {
    return 'there is no such file; correct its path in --config or FILECONV_CONFIG, or leave that out';
  }
  return `${whyUnreadable(error)}; name another file with --config`;
}

/** Variables that Temporal's Worker Controller sets in a worker's pod. */
const controllerVariables = {
  TEMPORAL_DEPLOYMENT_NAME: 'worker.deployment_name',
  TEMPORAL_WORKER_BUILD_ID: 'worker.build_id',
} as const;
const appVariable = /^FILECONV_APPS_(.+)_(BASE_URL|APP_ID|TOKEN_ENV|TOKEN_FILE|TOKEN)$/;

/**
 * Overrides values of the file with those of variables. An empty variable counts as unset, as with Temporal's own.
 * @returns warnings
 */
export function takeEnvironment({ values, origins }: Draft, env: Environment): string[] {
  const keyOfVariable = new Map([['FILECONV_DEFAULT_APP', 'default_app']]);
  for (const [section, keys] of keysOfSection) {
    for (const key of keys) keyOfVariable.set(variableOf(section, key), `${section}.${key}`);
  }
  const { apps } = values;
  const appNames = isTable(apps) ? Object.keys(apps) : [];
  const warnings: string[] = [];
  for (const [variable, key] of Object.entries(controllerVariables)) {
    const content = env[variable];
    if (content) take(key, content, variable);
  }
  for (const [variable, content] of Object.entries(env)) {
    // FILECONV_CONFIG names the file itself.
    if (!variable.startsWith('FILECONV_') || variable === 'FILECONV_CONFIG' || !content) continue;
    const key = keyOfVariable.get(variable);
    const app = appVariable.exec(variable);
    if (key !== undefined) take(key, content, variable);
    else if (app !== null) takeApp(app[1] ?? '', app[2] ?? '', { variable, content });
    else warnings.push(`${variable} is ignored: no key has this name${hintFor(variable)}`);
  }
  return warnings;

  function take(key: string, content: string, variable: string): void {
    const names = key.split('.');
    const last = names.pop() ?? '';
    let table = values;
    for (const name of names) {
      if (!Object.hasOwn(table, name)) table[name] = {};
      const inner = table[name];
      // A value in the place of a table is refused by the check later.
      if (!isTable(inner)) return;
      table = inner;
    }
    table[last] = content;
    origins[key] = { source: 'environment', where: variable };
  }

  function takeApp(part: string, suffix: string, { variable, content }: { variable: string; content: string }): void {
    const name = appNames.find((each) => variablePartOf(each) === part) ?? part.toLowerCase().replaceAll('_', '-');
    if (suffix.startsWith('TOKEN')) dropTokenOfFile(name);
    // Keeps only the name of the variable, not the token.
    if (suffix === 'TOKEN') take(`apps.${name}.token_env`, variable, variable);
    else take(`apps.${name}.${suffix.toLowerCase()}`, content, variable);
  }

  /** A token's source replaces both kinds of source in the file. */
  function dropTokenOfFile(name: string): void {
    for (const key of ['token_env', 'token_file']) {
      const app = isTable(apps) ? apps[name] : undefined;
      if (!isTable(app) || origins[`apps.${name}.${key}`]?.source !== 'file') continue;
      Reflect.deleteProperty(app, key);
      Reflect.deleteProperty(origins, `apps.${name}.${key}`);
    }
  }

  function hintFor(variable: string): string {
    if (variable.startsWith('FILECONV_APPS_')) {
      return `; for apps: FILECONV_APPS_<NAME>_<${[...appKeys, 'token'].join('|').toUpperCase()}>`;
    }
    const hint = didYouMean(variable, [...keyOfVariable.keys()]);
    return hint.startsWith('; known') ? '' : hint;
  }
}
