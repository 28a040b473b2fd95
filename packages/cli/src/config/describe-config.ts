import type { Config } from './config';
import { formatDuration } from './duration';
import { camelCase } from './key-spelling';
import { keysOfSection } from './known-keys';
import type { LoadedConfig } from './load-config';
import { mask } from './secret';

export interface ConfigRow {
  /** Dotted key in the file's spelling. */
  key: string;
  value: string;
  /** `default`, the path of the file, or the name of the variable. */
  source: string;
}

/** The effective configuration for people: every key, its value, and where it came from. Tokens are masked. */
export function describeConfig(loaded: LoadedConfig): ConfigRow[] {
  const { values, origins } = loaded;
  const rows: ConfigRow[] = [];
  const sourceOf = (key: string) => origins[key]?.where ?? 'default';
  const add = (key: string, value: unknown) => {
    rows.push({
      key,
      value: typeof value === 'string' || typeof value === 'number' ? String(value) : '(not set)',
      source: sourceOf(key),
    });
  };
  add('default_app', values.defaultApp);
  for (const [section, keys] of keysOfSection) {
    const table = sectionOf(values, section);
    for (const key of keys) {
      const value = table.get(camelCase(key));
      const isDuration = section === 'policies' && typeof value === 'number' && key !== 'max_resubmissions';
      add(`${section}.${key}`, isDuration ? formatDuration(value) : value);
    }
  }
  for (const app of Object.values(values.apps)) {
    const prefix = `apps.${app.name}`;
    add(`${prefix}.base_url`, app.baseUrl);
    add(`${prefix}.app_id`, app.appId);
    const place = app.token.from === 'environment' ? `variable ${app.token.variable}` : `file ${app.token.file}`;
    rows.push({ key: `${prefix}.token`, value: mask, source: place });
  }
  return rows;
}

function sectionOf(values: Config, section: string): Map<string, unknown> {
  const table: unknown = Object.entries(values).find(([name]) => name === section)?.[1];
  return new Map(Object.entries(table ?? {}));
}
