// npm run config-reference: writes packages/cli/fileconv.schema.json and the tables of docs/configuration.md from
// packages/cli/src/config/schema.ts, and the table of docs/errors.md from src/contract/error-codes.ts. With --check it
// writes nothing, and fails when one of them is not up to date.
import { build } from 'esbuild';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { format } from 'prettier';
import { z } from 'zod';

const root = path.resolve(import.meta.dirname, '..');
const sources = { schema: 'packages/cli/src/config/schema.ts', errors: 'src/contract/error-codes.ts' };

const { fileSchema, isPath } = await loadSources(sources.schema);
const { errorClasses, errorCodes } = await loadSources(sources.errors);
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
const files = {
  'packages/cli/fileconv.schema.json': await format(JSON.stringify({ title: 'fileconv.toml', ...schema }, forEditors), {
    parser: 'json',
    printWidth: 120,
  }),
  'docs/configuration.md': pageWith('docs/configuration.md', sources.schema, reference()),
  'docs/errors.md': pageWith('docs/errors.md', sources.errors, codesOfService()),
};

const stale = Object.keys(files).filter((file) => files[file] !== readFileSync(path.join(root, file), 'utf8'));
if (!process.argv.includes('--check')) for (const file of stale) writeFileSync(path.join(root, file), files[file]);
else if (stale.length > 0) {
  console.error(`Not as the sources say: ${stale.join(', ')}; run: npm run config-reference`);
  process.exitCode = 1;
}

/** The sources as they are, without a build. */
async function loadSources(entry) {
  const outfile = path.join(root, 'node_modules/.cache/fileconv-config', `${path.basename(entry, '.ts')}.mjs`);
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

/** The page with what is made from `source` between its marks. */
function pageWith(file, source, made) {
  const page = readFileSync(path.join(root, file), 'utf8');
  const begin = `<!-- From ${source}, by \`npm run config-reference\`. -->`;
  const end = '<!-- End of what is generated. -->';
  return `${page.slice(0, page.indexOf(begin))}${begin}\n\n${made}\n${page.slice(page.indexOf(end))}`;
}

/** By class, in the order of `errorClasses`. */
function codesOfService() {
  const head = ['| Code | HTTP | Class | Concerns the whole account |', '|---|---:|---|---|'];
  const rows = Object.keys(errorClasses).flatMap((name) =>
    Object.entries(errorCodes)
      .filter(([, row]) => row.class === name)
      .map(([code, row]) => `| \`${code}\` | ${row.httpStatus} | ${name} |${row.refusesAccount ? ' yes ' : ' '}|`),
  );
  return [...head, ...rows, ''].join('\n');
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
