import { lstatSync } from 'node:fs';
import path from 'node:path';
import { type ConversionPolicies, type OptionPolicy, policies, type PolicyName } from 'temporal-file-conversion/job';
import { isLoopback } from 'temporal-file-conversion/network';
import type { z } from 'zod';
import { tokenProblems, type ConfiguredApp } from './app-token';
import { privilegedValues, type PrivilegedValue } from './privileged-values';
import { ConfigError } from './errors';
import {
  type sectionSchemas,
  appKeys,
  appNamePattern,
  camelCase,
  didYouMean,
  embeddedApp,
  fileSchema,
  isPath,
  keysOfSection,
  snakeCase,
  topLevelNames,
  variablePartOf,
  type CamelCase,
  type FileValues,
} from './schema';
import { readConfigFile, takeEnvironment, type Draft, type Environment, type Origin } from './sources';
import { isLoopbackAddress } from './value-types';

type Section<Values> = { [Key in keyof Values as CamelCase<Key>]: Exclude<Values[Key], undefined> };

/** The effective configuration, with keys spelled as in the code. Paths are absolute; durations are milliseconds. */
export type Config = { [Name in keyof typeof sectionSchemas]: Section<FileValues[Name]> } & {
  defaultApp: string;
  service: { dataDir: string };
  apps: Record<string, ConfiguredApp>;
};

interface LoadConfigOptions {
  /** Base of relative paths, except those in the file, which are relative to its folder. */
  cwd: string;
  env: Environment;
  file?: string | undefined;
}

export interface LoadedConfig {
  values: Config;
  /** By dotted key in the file's spelling: `worker.task_queue`. A key that is not set has no origin. */
  origins: Readonly<Record<string, Origin>>;
  warnings: string[];
  file?: string;
  /** The file was found in the folder, not named by the user. */
  isFound?: true;
  /** What a found file opens; requires permission. */
  privileged: readonly PrivilegedValue[];
}

/**
 * Loads the effective configuration: environment over file over defaults.
 *
 * @throws ConfigError with a line per problem: the file or variable, the key, what is wrong and what to do.
 */
export async function loadConfig(options: LoadConfigOptions): Promise<LoadedConfig> {
  const file = findFile(options);
  const draft: Draft = file === undefined ? { values: {}, origins: {} } : await readConfigFile(file);
  const { origins } = draft;
  const warnings = takeEnvironment(draft, options.env);
  const { data, error } = fileSchema.safeParse(draft.values);
  const problems = data
    ? problemsOf(data, { file, origins })
    : error.issues.flatMap((issue) => describeIssue(issue, { file, origins }));
  const [first, ...others] = problems;
  if (first !== undefined || !data) throw new ConfigError([first ?? 'unusable configuration', ...others]);

  const folder = file === undefined ? options.cwd : path.dirname(file);
  const values = withAbsolutePaths(data, (key) => (origins[key]?.source === 'file' ? folder : options.cwd));
  for (const [name, { base_url: url }] of Object.entries(values.apps)) {
    if (!isPlainHttpElsewhere(url)) continue;
    const { where } = origins[`apps.${name}.base_url`] ?? { where: 'configuration' };
    warnings.push(`${where}: apps.${name}.base_url is plain http: the token travels unencrypted; use https`);
  }
  const isFound = file !== undefined && namedFile(options) === undefined;
  const ofFile = Object.keys(origins).filter((key) => origins[key]?.source === 'file');
  return {
    values: toConfig(values),
    privileged: isFound ? await privilegedValues(values, { folder, keys: ofFile }) : [],
    origins,
    warnings,
    ...(file !== undefined && { file }),
    ...(isFound && { isFound }),
  };
}

function namedFile({ env, file }: Pick<LoadConfigOptions, 'env' | 'file'>): string | undefined {
  return file ?? (env['FILECONV_CONFIG'] === '' ? undefined : env['FILECONV_CONFIG']);
}

function findFile({ cwd, env, file }: LoadConfigOptions): string | undefined {
  const named = namedFile({ env, file });
  if (named !== undefined) return path.resolve(cwd, named);
  const usual = path.resolve(cwd, 'fileconv.toml');
  // A dangling link is a mistake, and reported when it is read.
  return lstatSync(usual, { throwIfNoEntry: false }) && usual;
}

type Places = Pick<Draft, 'origins'> & { file: string | undefined };

/** A line for each problem that the schema found, with the file or variable. */
function describeIssue({ code, path: names, message, ...issue }: z.core.$ZodIssue, places: Places): string[] {
  const at = names.join('.');
  const where = `${places.file ?? 'configuration'}: `;
  if (code === 'invalid_type') return [`${where}${at} must be a table: [${at === 'apps' ? 'apps.NAME' : at}]`];
  if (!('keys' in issue)) return [problemLine(at, message, places)];
  return issue.keys.map((key) => {
    if (at === '') return `${where}unknown name ${key}${didYouMean(key, topLevelNames)}`;
    const isOfApp = names[0] === 'apps';
    if (isOfApp && key === 'token') {
      return `${where}${at}.token must not be in this file, which is shared and backed up: use token_env = "VARIABLE" or token_file = "PATH", and replace the token if others could read it`;
    }
    return `${where}unknown key ${at}.${key}${didYouMean(key, isOfApp ? appKeys : (keysOfSection.get(at) ?? []))}`;
  });
}

function problemLine(key: string, message: string, { origins, file = 'configuration' }: Places): string {
  const origin = origins[key];
  if (origin?.source === 'environment') return `${origin.where} (${key}) ${message}`;
  if (origin !== undefined) return `${origin.where}: ${key} ${message}`;
  return `${file}: ${key} is missing; it ${message}`;
}

/** Problems that only several values together show. */
function problemsOf(values: FileValues, places: Places): string[] {
  const ofApps = [...nameProblems(values, places), ...tokenProblems(Object.keys(values.apps), places.origins)];
  const { default_app: name, apps } = values;
  // A message about a missing app could mislead if there are other problems.
  const isMissing = ofApps.length === 0 && name !== embeddedApp && !Object.hasOwn(apps, name);
  const missing = `names the app "${name}", which has no [apps.${name}]${didYouMean(name, [embeddedApp, ...Object.keys(apps)])}`;
  return [
    ...ofApps,
    ...(isMissing ? [problemLine('default_app', missing, places)] : []),
    ...ownAddressProblems(values, places),
    ...codecProblems(values, places),
  ];
}

function nameProblems({ apps }: FileValues, { file = 'configuration' }: Places): string[] {
  const byVariable = new Map<string, string>();
  return Object.keys(apps).flatMap((name) => {
    if (!appNamePattern.test(name)) {
      return `${file}: [apps."${name}"]: the name of an app may hold letters, digits, "-" and "_" only`;
    }
    const twin = byVariable.get(variablePartOf(name));
    byVariable.set(variablePartOf(name), name);
    if (twin === undefined) return [];
    return `${file}: [apps.${name}] and [apps.${twin}] share their variables' names; rename one`;
  });
}

/** Metrics show how much is converted for whom, so serving them to other machines takes a second setting. */
function ownAddressProblems(values: FileValues, places: Places): string[] {
  if (values.metrics.remote === 'on') return [];
  return (['worker', 'service', 'callbacks'] as const).flatMap((section) =>
    (['metrics_address', 'health_address'] as const).flatMap((key) => {
      const address = values[section][key];
      if (address === undefined || isLoopbackAddress(address)) return [];
      const message = `is ${address}, which other machines can reach; use 127.0.0.1, or allow it with remote = "on" in [metrics]`;
      return [problemLine(`${section}.${key}`, message, places)];
    }),
  );
}

/** A codec server decrypts everything, so other machines need a token. */
function codecProblems({ codec }: FileValues, places: Places): string[] {
  const hasToken = codec.token_env !== undefined || codec.token_file !== undefined;
  if (hasToken || isLoopback(codec.host)) return [];
  const message = `is ${codec.host}, which other machines can reach; use 127.0.0.1, or have them know a token: token_env or token_file in [codec]`;
  return [problemLine('codec.host', message, places)];
}

function isPlainHttpElsewhere(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}

/** @param folderOf base folder for the paths of a key. */
function withAbsolutePaths(values: FileValues, folderOf: (key: string) => string): FileValues {
  const resolve = (table: object, prefix: string): object =>
    Object.fromEntries(
      Object.entries(table).map(([name, value]: [string, unknown]) => {
        const key = prefix + name;
        if (key === 'worker.roots') return [name, (value as string[]).map((root) => path.resolve(folderOf(key), root))];
        if (typeof value === 'string') return [name, isPath(name) ? path.resolve(folderOf(key), value) : value];
        const isTable = typeof value === 'object' && value !== null && !Array.isArray(value);
        return [name, isTable ? resolve(value, `${key}.`) : value];
      }),
    );
  return resolve(values, '') as FileValues;
}

function toConfig({ default_app: defaultApp, apps, ...sections }: FileValues): Config {
  const spelt = Object.entries(sections).map(([name, section]: [string, object]) => {
    const entries = Object.entries(section).filter(([, value]) => value !== undefined);
    return [name, Object.fromEntries(entries.map(([key, value]) => [camelCase(key), value as unknown]))];
  });
  const config = { ...Object.fromEntries(spelt), defaultApp, apps: appsOf(apps) } as Config;
  const dataDir = config.service.dataDir as string | undefined;
  return { ...config, service: { ...config.service, dataDir: dataDir ?? path.join(config.state.dir, 'service') } };
}

function appsOf(apps: FileValues['apps']): Record<string, ConfiguredApp> {
  const profiles = Object.entries(apps).map(([name, app]): [string, ConfiguredApp] => {
    const { base_url: baseUrl, app_id: appId, token_env: variable = '', token_file: file } = app;
    const token = file === undefined ? { from: 'environment' as const, variable } : { from: 'file' as const, file };
    return [name, { name, baseUrl, appId, token }];
  });
  return Object.fromEntries(profiles);
}

export type PolicyFlags = Pick<ConversionPolicies, OptionPolicy>;

/** Policies that were set explicitly. The workflow has the defaults, so a job's input shows only what is special about it. */
export function chosenPolicies(
  { values, origins }: LoadedConfig,
  flags: PolicyFlags,
): { policies?: ConversionPolicies } {
  const given: ConversionPolicies = flags;
  const chosen = (Object.keys(policies) as PolicyName[]).flatMap((name) => {
    const isConfigured = origins[`policies.${snakeCase(name)}`] !== undefined;
    const value = given[name] ?? (isConfigured ? values.policies[name] : undefined);
    return value === undefined ? [] : [[name, value] as const];
  });
  return chosen.length > 0 ? { policies: Object.fromEntries(chosen) } : {};
}
