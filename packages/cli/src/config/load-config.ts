import { lstatSync } from 'node:fs';
import path from 'node:path';
import type { ConversionPolicies } from 'temporal-file-conversion/job';
import { mergeLayers, tokenProblems, type AppProfile } from './app-token';
import { doorsOf, type Door } from './doors';
import { ConfigError } from './errors';
import { emptyLayer, readConfigFile, readEnvironment, toTable } from './layers';
import type { Environment, Layer, Origin } from './layers';
import {
  appNamePattern,
  camelCase,
  didYouMean,
  embeddedApp,
  fileSchema,
  isPath,
  sectionSchemas,
  snakeCase,
  type CamelCase,
  type FileValues,
} from './schema';
import { isLoopback } from 'temporal-file-conversion/network';
import { isLoopbackAddress } from './value-types';

type Section<Values> = { [Key in keyof Values as CamelCase<Key>]: Exclude<Values[Key], undefined> };

/** The effective configuration, its keys spelt as the code spells them. Paths are absolute; durations are milliseconds. */
export type Config = { [Name in keyof typeof sectionSchemas]: Section<FileValues[Name]> } & {
  defaultApp: string;
  service: { dataDir: string };
  apps: Record<string, AppProfile>;
};

interface LoadConfigOptions {
  /** Relative paths start here, unless they stand in the file: those start at the file's folder. */
  cwd: string;
  env: Environment;
  file?: string | undefined;
}

export interface LoadedConfig {
  values: Config;
  /** By dotted key in the file's spelling: `worker.task_queue`. A key that nobody has set has no origin. */
  origins: Record<string, Origin>;
  warnings: string[];
  file?: string;
  /** The file was found in the folder; nobody named it. */
  isFound?: true;
  /** What a file that was found opens: it counts only once it is allowed. */
  doors: readonly Door[];
}

/**
 * The effective configuration: environment over file over defaults.
 *
 * @throws ConfigError with a line for each problem: the file or variable, the key, what is wrong and what to do.
 */
export async function loadConfig(options: LoadConfigOptions): Promise<LoadedConfig> {
  const file = findFile(options);
  const fromFile = file === undefined ? emptyLayer() : await readConfigFile(file);
  const fromEnvironment = readEnvironment(options.env, appNamesOf(fromFile.values));
  const problems = [...fromFile.problems, ...fromEnvironment.problems];
  const warnings = [...fromEnvironment.warnings];
  const values = mergeLayers(fromFile.values, fromEnvironment.values);
  problems.push(...tokenProblems(values, appNamesOf(values)));

  const checked = fileSchema.safeParse(toTable(values));
  if (!checked.success) {
    problems.push(...checked.error.issues.map((issue) => problemLine(issue.path.join('.'), issue.message, values)));
  }
  // With other problems, a message about missing apps could mislead.
  if (checked.success && problems.length === 0) {
    const defaultApp = checked.data.default_app;
    if (defaultApp !== embeddedApp && !Object.hasOwn(checked.data.apps, defaultApp)) {
      const known = [embeddedApp, ...Object.keys(checked.data.apps)];
      const message = `names the app "${defaultApp}", which has no [apps.${defaultApp}]${didYouMean(defaultApp, known)}`;
      problems.push(problemLine('default_app', message, values));
    }
  }
  if (checked.success) {
    problems.push(...ownAddressProblems(checked.data, values), ...codecProblems(checked.data, values));
  }
  const [first, ...others] = problems;
  if (first !== undefined || !checked.success) throw new ConfigError([first ?? 'unusable configuration', ...others]);

  const resolvePath = (key: string, value: string) => {
    const fileFolder = file === undefined ? options.cwd : path.dirname(file);
    return path.resolve(values.get(key)?.origin.source === 'file' ? fileFolder : options.cwd, value);
  };
  const apps = appsOf(checked.data, resolvePath);
  for (const app of Object.values(apps)) {
    if (isPlainHttpElsewhere(app.baseUrl)) {
      const { where } = values.get(`apps.${app.name}.base_url`)?.origin ?? { where: 'configuration' };
      warnings.push(`${where}: apps.${app.name}.base_url is plain http: the token travels unencrypted; use https`);
    }
  }
  const isFound = file !== undefined && namedFile(options) === undefined;
  return {
    values: toConfig(checked.data, apps, resolvePath),
    doors: isFound
      ? await doorsOf({ folder: path.dirname(file), values: ofFile(checked.data, { values, resolvePath }) })
      : [],
    origins: Object.fromEntries([...values].map(([key, { origin }]) => [key, origin])),
    warnings,
    ...(file !== undefined && { file }),
    ...(isFound && { isFound }),
  };
}

/** What the file says, as far as no variable says otherwise: checked, by dotted key. */
function ofFile(
  checked: FileValues,
  { values, resolvePath }: Pick<Layer, 'values'> & { resolvePath: ResolvePath },
): Map<string, unknown> {
  const keys = [...values].filter(([, { origin }]) => origin.source === 'file').map(([key]) => key);
  return new Map(
    keys.map((key) => {
      const names = key.split('.');
      let value: unknown = checked;
      for (const name of names) value = (value as Record<string, unknown>)[name];
      return [key, resolved(key, value, resolvePath)];
    }),
  );
}

function namedFile({ env, file }: Pick<LoadConfigOptions, 'env' | 'file'>): string | undefined {
  return file ?? (env['FILECONV_CONFIG'] === '' ? undefined : env['FILECONV_CONFIG']);
}

function findFile({ cwd, env, file }: LoadConfigOptions): string | undefined {
  const named = namedFile({ env, file });
  if (named !== undefined) return path.resolve(cwd, named);
  const usual = path.resolve(cwd, 'fileconv.toml');
  // A link that leads nowhere is somebody's mistake, and reported when it is read.
  return lstatSync(usual, { throwIfNoEntry: false }) && usual;
}

function appNamesOf(values: Layer['values']): string[] {
  const names = [...values.keys()].filter((key) => key.startsWith('apps.')).map((key) => key.split('.')[1] ?? '');
  return [...new Set(names)].filter((name) => appNamePattern.test(name));
}

function problemLine(key: string, message: string, values: Layer['values']): string {
  const origin = values.get(key)?.origin;
  if (origin?.source === 'environment') return `${origin.where} (${key}) ${message}`;
  if (origin !== undefined) return `${origin.where}: ${key} ${message}`;
  return `${key} ${message}`;
}

function resolved(key: string, value: unknown, resolvePath: ResolvePath): unknown {
  if (key === 'worker.roots') return (value as string[]).map((root) => resolvePath(key, root));
  return isPath(key.split('.').at(-1) ?? '') && typeof value === 'string' ? resolvePath(key, value) : value;
}

/** Makes a path of this key absolute, by the place where it was written. */
type ResolvePath = (key: string, value: string) => string;

function toConfig(values: FileValues, apps: Record<string, AppProfile>, resolvePath: ResolvePath): Config {
  const sections = Object.keys(sectionSchemas).map((name) => {
    const entries = Object.entries(values[name as keyof typeof sectionSchemas]).map(([key, value]) => [
      camelCase(key),
      resolved(`${name}.${key}`, value, resolvePath),
    ]);
    return [name, Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as object];
  });
  const config = { ...Object.fromEntries(sections), defaultApp: values.default_app, apps } as Config;
  const dataDir = config.service.dataDir as string | undefined;
  return { ...config, service: { ...config.service, dataDir: dataDir ?? path.join(config.state.dir, 'service') } };
}

function appsOf(values: FileValues, resolvePath: ResolvePath): Record<string, AppProfile> {
  const apps: Record<string, AppProfile> = {};
  for (const [name, profile] of Object.entries(values.apps)) {
    apps[name] = {
      name,
      baseUrl: profile.base_url,
      appId: profile.app_id,
      token:
        profile.token_file === undefined
          ? { from: 'environment', variable: profile.token_env ?? '' }
          : { from: 'file', file: resolvePath(`apps.${name}.token_file`, profile.token_file) },
    };
  }
  return apps;
}

/** Metrics show how much is converted for whom: serving them to other machines needs a second setting. */
function ownAddressProblems(checked: FileValues, values: Layer['values']): string[] {
  if (checked.metrics.remote === 'on') return [];
  return (['worker', 'service', 'callbacks'] as const).flatMap((section) =>
    (['metrics_address', 'health_address'] as const).flatMap((key) => {
      const address = checked[section][key];
      if (address === undefined || isLoopbackAddress(address)) return [];
      const message = `is ${address}, which other machines can reach; use 127.0.0.1, or allow it with remote = "on" in [metrics]`;
      return [problemLine(`${section}.${key}`, message, values)];
    }),
  );
}

/** A codec server decrypts everything: other machines need a token. */
function codecProblems({ codec }: FileValues, values: Layer['values']): string[] {
  const hasToken = codec.token_env !== undefined || codec.token_file !== undefined;
  if (hasToken || isLoopback(codec.host)) return [];
  const message = `is ${codec.host}, which other machines can reach; use 127.0.0.1, or have them know a token: token_env or token_file in [codec]`;
  return [problemLine('codec.host', message, values)];
}

function isPlainHttpElsewhere(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}

/** Policies that were set explicitly. Defaults are the workflow's own, so that a job's input shows only what is special about it. */
export function chosenPolicies(
  { values, origins }: LoadedConfig,
  flags: Partial<ConversionPolicies>,
): ConversionPolicies {
  const chosen = Object.entries(values.policies).filter(([name]) => {
    // Not policies of the workflow but a part of the job itself, and of the plan of a batch.
    return name !== 'onExisting' && name !== 'unconvertible' && origins[`policies.${snakeCase(name)}`] !== undefined;
  });
  return { ...Object.fromEntries(chosen), ...flags };
}
