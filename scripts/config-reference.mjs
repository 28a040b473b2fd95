// npm run config-reference: writes packages/cli/fileconv.schema.json and the tables of docs/configuration.md from
// packages/cli/src/config/schema.ts. With --check it writes nothing, and fails when one of them is not up to date.
import { build } from 'esbuild';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { format } from 'prettier';
import { z } from 'zod';

const root = path.resolve(import.meta.dirname, '..');
const begin = '<!-- From packages/cli/src/config/schema.ts, by `npm run config-reference`. -->';
const end = '<!-- End of what is made from the schema. -->';

const { fileSchema, isPath } = await loadSources('packages/cli/src/config/schema.ts');
const schema = z.toJSONSchema(fileSchema, {
  target: 'draft-7',
  io: 'input',
  override({ zodSchema, jsonSchema }) {
    // Variables of the environment may give what a file leaves out.
    delete jsonSchema.required;
    // Zod drops them of a text that is read as something else; but here texts are what is described.
    Object.assign(jsonSchema, zodSchema.meta()?.examples && { examples: zodSchema.meta().examples });
    // As many as this machine has cores is no default elsewhere.
    if (jsonSchema.absent !== undefined || jsonSchema.type === 'object') delete jsonSchema.default;
  },
});
const page = readFileSync(path.join(root, 'docs/configuration.md'), 'utf8');
const files = {
  'packages/cli/fileconv.schema.json': await format(JSON.stringify({ title: 'fileconv.toml', ...schema }, forEditors), {
    parser: 'json',
    printWidth: 120,
  }),
  'docs/configuration.md': `${page.slice(0, page.indexOf(begin))}${begin}\n\n${reference()}\n${page.slice(page.indexOf(end))}`,
};

const stale = Object.keys(files).filter((file) => files[file] !== readFileSync(path.join(root, file), 'utf8'));
if (!process.argv.includes('--check')) for (const file of stale) writeFileSync(path.join(root, file), files[file]);
else if (stale.length > 0) {
  console.error(`Not as the schema says: ${stale.join(', ')}; run: npm run config-reference`);
  process.exitCode = 1;
}

/** The sources as they are, without a build. */
async function loadSources(entry) {
  const outfile = path.join(root, 'node_modules/.cache/fileconv-config/schema.mjs');
  await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['zod'],
    tsconfig: 'tsconfig.check.json',
    logLevel: 'error',
  });
  return import(pathToFileURL(outfile));
}

/** Without what only the page has a place for. */
function forEditors(key, value) {
  if (['shown', 'absent', 'see'].includes(key) && typeof value === 'string') return undefined;
  return value?.absent === undefined
    ? value
    : { ...value, description: `${value.description}; default: ${value.absent}` };
}

function reference() {
  const { default_app, apps, ...sections } = schema.properties;
  const profile = apps.additionalProperties.properties;
  return [
    table('apps', apps, [...rowsOf('', { default_app }), ...rowsOf('apps.NAME.', profile)]),
    ...Object.entries(sections).map(([name, each]) => table(name, each, rowsOf(`${name}.`, each.properties))),
  ].join('\n');
}

function table(heading, { description, see }, rows) {
  const head = ['| Key | Type | Default | Variable | |', '|---|---|---|---|---|'];
  return [`### ${heading}`, '', description + (see ? ` See ${see}.` : ''), '', ...head, ...rows, ''].join('\n');
}

function rowsOf(prefix, keys) {
  return Object.entries(keys).map(([name, { description, shown, absent, default: fixed, see }]) => {
    const key = prefix + name;
    const variable = `FILECONV_${key.replaceAll('.', '_').toUpperCase()}`.replace('APPS_NAME_', 'APPS_<NAME>_');
    const cells = [
      `\`${key}\``,
      isPath(name) ? 'path' : shown,
      absent ?? spelt(fixed, name.endsWith('_bytes')),
      `\`${variable}\``,
    ];
    return `| ${[...cells, description + (see ? `; see ${see}` : '')].join(' | ')} |`.replaceAll('|  |', '| |');
  });
}

/** As TOML has it; of sizes what a person reads, too. */
function spelt(value, isBytes) {
  if (value === undefined) return '';
  const units = { GiB: 1024 ** 3, MiB: 1024 ** 2 };
  const unit = isBytes && Object.keys(units).find((each) => value >= units[each]);
  return `\`${JSON.stringify(value)}\`${unit ? `, ${value / units[unit]} ${unit}` : ''}`;
}
