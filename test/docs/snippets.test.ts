import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { parse as parseToml } from 'smol-toml';
import ts from 'typescript';
import { errorCodes } from '../src/api/error-codes';
import { clientErrorCodes } from '../src/api/errors';
import { appKeys, keysOfSection, variableOf } from '../src/config/known-keys';
import { appSchema, fileSchema } from '../src/service/accounts/accounts-schema';
import { failureCodes } from '../src/shared/activities';
import { commandLinesOf, findUnknownWord } from './support/command-lines';

const root = path.resolve(__dirname, '..');
const operations = readdirSync(path.join(root, 'docs/operations'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/operations/${name}`);
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'docs/accounts.md',
  'docs/embedding/file-stores.md',
  'docs/errors.md',
  'docs/faults.md',
  ...operations,
];
const textOf = (page: string) => readFileSync(path.join(root, page), 'utf8');
const readme = textOf('README.md');

it('every TypeScript snippet of the README and the pages compiles against the package, and a wrong one would be noticed', () => {
  const snippets = pages.flatMap((page) =>
    [...textOf(page).matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1] ?? ''),
  );
  expect(snippets.length).toBeGreaterThan(2);
  const wrong =
    "import { FileConversionClient } from 'temporal-file-conversion';\nnew FileConversionClient({ clint: 1 });\n";
  const files = [
    ...snippets.map((code, index) => [`snippet-${index + 1}.mts`, code] as const),
    ['wrong.mts', wrong] as const,
  ];
  const problems = compile(new Map(files.map(([name, code]) => [path.join(root, name), code])));
  expect(problems).toEqual([expect.stringMatching(/^wrong\.mts: .*clint/)]);
}, 120_000);

it.each(pages)('%s names only files that exist, and links only to them', (page) => {
  const folder = path.dirname(path.join(root, page));
  const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)#]+)(#[^)]*)?\)/g)].map((match) => match[1] ?? '');
  const named = [...textOf(page).matchAll(/`((?:src|test|examples|scripts|bench|docs|deploy)\/[\w./-]+)`/g)].map(
    (match) => path.relative(folder, path.join(root, match[1] ?? '')),
  );
  expect([...links, ...named].filter((file) => !existsSync(path.join(folder, file)))).toEqual([]);
});

it.each(pages)('%s shows only commands and options that there are', (page) => {
  const unknown = commandLinesOf(textOf(page)).filter((words) => findUnknownWord(words) !== undefined);
  expect(unknown.map((words) => words.join(' '))).toEqual([]);
});

it.each(pages)('%s holds nothing that was still to be filled in', (page) => {
  expect(textOf(page)).not.toMatch(/@@|\b(TODO|TBD|FIXME)\b/);
});

it('a command or an option that there is not would be noticed', () => {
  const page =
    'Type `fileconv job shwo ID`, `fileconv doctor --app billing` or:\n\n```\n$ fileconv job list --statsu failed\n```\n';
  expect(commandLinesOf(page).map(findUnknownWord)).toEqual(['--statsu', 'shwo', undefined]);
});

it('docs/operations names only alerts, variables and codes that there are', () => {
  const text = operations.map(textOf).join('\n');
  const alerts = [...textOf('docs/operations/alerts.yml').matchAll(/alert: (\w+)/g)].map(([, name = '']) => name);
  const named = [...text.matchAll(/\b(Fileconv[A-Z]\w+)/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !alerts.includes(name))).toEqual([]);
  const variables = [...keysOfSection].flatMap(([section, keys]) => keys.map((key) => variableOf(section, key)));
  const used = [...text.matchAll(/\b(FILECONV_(?!APPS_)[A-Z_]+[A-Z])/g)].map(([, name = '']) => name);
  expect(used.filter((name) => ![...variables, 'FILECONV_CONFIG', 'FILECONV_DEFAULT_APP'].includes(name))).toEqual([]);
  const codes = [...textOf('docs/operations/incidents.md').matchAll(/with ([A-Z]+_[A-Z_]+)/g)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(2);
  const explained = textOf('docs/errors.md');
  expect(codes.filter((code) => !explained.includes(`\`${code ?? ''}\``))).toEqual([]);
});

it('docs/accounts.md shows a file that the service takes, and explains every key', () => {
  const page = textOf('docs/accounts.md');
  const example = /^```toml\n(.*?)^```$/ms.exec(page)?.[1] ?? '';
  const { apps } = fileSchema.parse(parseToml(example));
  expect(Object.keys(apps)).toEqual(['billing']);
  const explained = [...page.matchAll(/^\| `([\w.]+)` +\|/gm)].map((match) => match[1]?.replace('limits.', '') ?? '');
  const { limits, ...ofApp } = appSchema.shape;
  const ofFile = Object.keys(fileSchema.shape).filter((key) => key !== 'apps');
  const limitKeys = Object.keys(limits.unwrap().shape);
  const withoutPrefix = [...Object.keys(ofApp), ...limitKeys, ...ofFile].map((key) => key.replace('limits.', ''));
  expect([...new Set(explained)].sort()).toEqual([...new Set(withoutPrefix)].sort());
});

it('the README explains every configuration key, and no other', () => {
  const known = [
    'default_app',
    ...appKeys.map((key) => `apps.NAME.${key}`),
    ...[...keysOfSection]
      .filter(([section]) => section !== 'policies')
      .flatMap(([section, keys]) => keys.map((key) => `${section}.${key}`)),
    ...(keysOfSection.get('policies') ?? []),
  ];
  const [, tables = ''] = readme.split('## Configuration');
  const explained = [...tables.matchAll(/^\| `([\w.]+)` \|/gm)].map((match) => match[1]);
  expect([...explained].sort()).toEqual([...known].sort());
});

it('docs/errors.md lists every code of the table with its status and class', () => {
  const listed = [...textOf('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d+) \| (\w+) \|$/gm)].map(
    ([, code, httpStatus, errorClass]) => `${code} ${httpStatus} ${errorClass}`,
  );
  const table = Object.entries(errorCodes).map(([code, row]) => `${code} ${row.httpStatus} ${row.class}`);
  expect([...listed].sort()).toEqual([...table].sort());
});

it('docs/errors.md explains every code of ours', () => {
  const ofStorage = [...textOf('src/storage/errors.ts').matchAll(/^ +\| '(\w+)'/gm)].map(([, code = '']) => code);
  for (const some of [ofStorage, clientErrorCodes]) expect(some.length).toBeGreaterThan(7);
  const codes = [...ofStorage, ...clientErrorCodes, ...Object.values(failureCodes)];
  const page = textOf('docs/errors.md');
  // "Not yet" and a cancelled request are no failures of a job.
  const internal = [failureCodes.notFinished, 'REQUEST_ABORTED'];
  expect(codes.filter((code) => !internal.includes(code) && !page.includes(`\`${code}\``))).toEqual([]);
});

/** Type-checks files that exist only here, with the options of the repository. */
function compile(files: ReadonlyMap<string, string>): string[] {
  const read = ts.readConfigFile(path.join(root, 'tsconfig.check.json'), (file) => ts.sys.readFile(file));
  const { options } = ts.parseJsonConfigFileContent({ ...read.config, include: [], files: [] }, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const onDisk = ts.createCompilerHost(options);
  host.fileExists = (file) => files.has(file) || onDisk.fileExists(file);
  host.readFile = (file) => files.get(file) ?? onDisk.readFile(file);
  host.getSourceFile = (file, languageVersion, ...others) => {
    const code = files.get(file);
    if (code === undefined) return onDisk.getSourceFile(file, languageVersion, ...others);
    return ts.createSourceFile(file, code, languageVersion, true);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) =>
        `${path.basename(file?.fileName ?? '')}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    );
}
