import { allow } from '../allowed';
import type { CommandContext } from '../command-context';
import { writtenDuration } from '../config/duration';
import type { LoadedConfig } from '../config/load-config';
import { temporalCommand } from '../config/temporal-connection';
import { camelCase, keysOfSection, type sectionSchemas } from '../config/schema';
import { mask } from '../observability/secret-mask';
import { formatTable } from '../output/text';
import { findTemporal } from '../stack/open-temporal';
import { shellWord } from 'temporal-file-conversion/internal/shared/wording';

export async function configShow(context: CommandContext): Promise<void> {
  const { config, output } = context;
  const rows = describeConfig(config);
  const cells = rows.map(({ key, value, source }) => [key, value, source]);
  const { deploymentName, taskQueue } = config.values.worker;
  const { target } = await findTemporal(context);
  const commands = {
    nexus: `operator nexus endpoint create --name conversion --target-namespace ${shellWord(target.namespace)} --target-task-queue ${shellWord(taskQueue)}`,
    version: `worker deployment set-current-version --deployment-name ${deploymentName} --build-id BUILD`,
    limit: `task-queue config set --task-queue ${shellWord(taskQueue)} --task-queue-type activity --queue-rps-limit 5`,
  };
  const typed = {
    nexus: temporalCommand(target, commands.nexus),
    version: temporalCommand(target, commands.version),
    limit: temporalCommand(target, commands.limit),
  };
  output.result(
    { file: config.file ?? null, values: rows, commands: typed },
    [
      formatTable(['KEY', 'VALUE', 'FROM'], cells),
      `\nTo lead callers of other namespaces to the workers, where nexus_apps names what they may use:\n  ${typed.nexus}`,
      `To give new work to workers of another version:\n  ${typed.version}`,
      `To let all workers together begin at most 5 steps a second:\n  ${typed.limit}`,
    ].join('\n'),
  );
}

interface ConfigRow {
  key: string;
  value: string;
  /** `default`, the path of the file, or the name of the variable. */
  source: string;
}

/** The effective configuration for people: every key, its value, and where it came from. Tokens are masked. */
export function describeConfig(loaded: LoadedConfig): ConfigRow[] {
  const { values, origins } = loaded;
  const rows: ConfigRow[] = [];
  const add = (key: string, value: unknown) => {
    const text = Array.isArray(value) ? value.join(', ') : value;
    const shown = (typeof text === 'string' && text !== '') || typeof text === 'number' ? String(text) : '(not set)';
    rows.push({ key, value: shown, source: origins[key]?.where ?? 'default' });
  };
  add('default_app', values.defaultApp);
  for (const [section, keys] of keysOfSection) {
    const table: Readonly<Record<string, unknown>> = values[section as keyof typeof sectionSchemas];
    for (const key of keys) {
      const value = table[camelCase(key)];
      const isDuration = section === 'policies' && typeof value === 'number' && key !== 'max_resubmissions';
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

export async function configAllow(context: CommandContext): Promise<void> {
  const { output, config } = context;
  const { doors, folders } = await allow(context);
  const told = [
    ...doors.map(({ key, value }) => `${config.file ?? ''} may say ${key} = ${value}.`),
    ...folders.map((folder) => `${folder} may be used: jobs in it that have not ended go on.`),
  ];
  output.result(
    { file: config.file ?? null, allowed: doors, folders },
    told.join('\n') || 'Nothing here needs to be allowed.',
  );
}
