import { policies, type Policy } from 'temporal-file-conversion/job';
import { allow } from '../allowed';
import type { CommandContext } from '../command-context';
import { writtenDuration } from '../config/duration';
import type { LoadedConfig } from '../config/load-config';
import { camelCase, keysOfSection, type sectionSchemas } from '../config/schema';
import { mask } from '../output/secret-mask';
import { formatTable } from '../output/text';

export function configShow(context: CommandContext): Promise<void> {
  const { config, output } = context;
  const rows = describeConfig(config);
  const cells = rows.map(({ key, value, source }) => [key, value, source]);
  output.result({ file: config.file ?? null, values: rows }, formatTable(['KEY', 'VALUE', 'FROM'], cells));
  return Promise.resolve();
}

interface ConfigRow {
  key: string;
  value: string;
  /** `default`, the path of the file, or the name of the variable. */
  source: string;
}

export function describeConfig(loaded: LoadedConfig): ConfigRow[] {
  const { values, origins } = loaded;
  const declared: Readonly<Record<string, Policy>> = policies;
  const rows: ConfigRow[] = [];
  const add = (key: string, value: unknown) => {
    const text = Array.isArray(value) ? value.join(', ') : key === 'notify.url' ? withoutPath(value) : value;
    const shown = (typeof text === 'string' && text !== '') || typeof text === 'number' ? String(text) : '(not set)';
    rows.push({ key, value: shown, source: origins[key]?.where ?? 'default' });
  };
  add('default_app', values.defaultApp);
  for (const [section, keys] of keysOfSection) {
    const table: Readonly<Record<string, unknown>> = values[section as keyof typeof sectionSchemas];
    for (const key of keys) {
      const value = table[camelCase(key)];
      const policy = section === 'policies' ? declared[camelCase(key)] : undefined;
      const isDuration = policy?.kind === 'duration' && typeof value === 'number';
      add(`${section}.${key}`, isDuration ? writtenDuration(value) : value);
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

/** Masks the path: the URL of a listener may be a secret, as with Slack and Teams. */
function withoutPath(url: unknown): unknown {
  if (typeof url !== 'string') return url;
  const { origin, href } = new URL(url);
  return href === `${origin}/` ? url : `${origin}/${mask}`;
}

export async function configAllow(context: CommandContext): Promise<void> {
  const { output, config } = context;
  const { privileged, folders } = await allow(context);
  const lines = [
    ...privileged.map(({ key, value }) => `Allowed in ${config.file ?? ''}: ${key} = ${value}`),
    ...folders.map((folder) => `${folder} is allowed: its unfinished jobs continue.`),
  ];
  output.result(
    { file: config.file ?? null, allowed: privileged, folders },
    lines.join('\n') || 'Nothing here needs to be allowed.',
  );
}
