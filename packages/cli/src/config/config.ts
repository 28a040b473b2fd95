import path from 'node:path';
import { camelCase, type CamelCase } from './key-spelling';
import { isPath, sectionSchemas } from './schema';
import type { FileValues } from './schema';

/** Where the token of an app comes from. The token itself is never part of the configuration. */
export type TokenSource = { from: 'environment'; variable: string } | { from: 'file'; file: string };

export interface AppProfile {
  name: string;
  /** Without a slash at its end. */
  baseUrl: string;
  appId: string;
  token: TokenSource;
}

type Section<Values> = { [Key in keyof Values as CamelCase<Key>]: Exclude<Values[Key], undefined> };

/** The effective configuration, its keys spelt as the code spells them. Paths are absolute; durations are milliseconds. */
export type Config = { [Name in keyof typeof sectionSchemas]: Section<FileValues[Name]> } & {
  defaultApp: string;
  service: { dataDir: string };
  apps: Record<string, AppProfile>;
};

/** Makes a path of this key absolute, by the place where it was written. */
type ResolvePath = (key: string, value: string) => string;

export function toConfig(values: FileValues, apps: Record<string, AppProfile>, resolvePath: ResolvePath): Config {
  const sections = Object.keys(sectionSchemas).map((name) => {
    const entries = Object.entries(values[name as keyof typeof sectionSchemas]).map(([key, value]) => [
      camelCase(key),
      isPath(key) && typeof value === 'string' ? resolvePath(`${name}.${key}`, value) : value,
    ]);
    return [name, Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as object];
  });
  const config = { ...Object.fromEntries(sections), defaultApp: values.default_app, apps } as Config;
  const dataDir = config.service.dataDir as string | undefined;
  return { ...config, service: { ...config.service, dataDir: dataDir ?? path.join(config.state.dir, 'service') } };
}
