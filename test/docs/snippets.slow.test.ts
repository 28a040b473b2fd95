import { existsSync } from 'node:fs';
import path from 'node:path';
import { parse as parseToml } from 'smol-toml';
import ts from 'typescript';
import { fileSchema as configSchema } from '../../packages/cli/src/config/schema';
import { accountsSchema as accountsSchema } from '../../packages/service/src/accounts/accounts-file';
import { faultsSchema } from '../../packages/service/src/faults/faults';
import { commandLinesOf, findUnknownWord } from '../support/command-lines';
import { pages, root, snippetsOf, textOf } from './pages';

/** Everything that can be copied from the README and the pages: programs, commands and configuration. */

it('every TypeScript snippet compiles against the package, and a wrong one is detected', () => {
  const snippets = numbered('ts');
  expect(snippets.length).toBeGreaterThan(6);
  const wrong =
    "import { FileConversionClient } from 'temporal-file-conversion';\nnew FileConversionClient({ clint: 1 });\n";
  const files = [
    ...snippets.map(({ page, number, code }) => [`${page.replace(/\W/g, '-')}-${number}.mts`, code] as const),
    // One program in both kinds of modules.
    ...snippets.filter(({ code }) => code.includes('void archive()')).map(({ code }) => ['README.cts', code] as const),
    ['wrong.mts', wrong] as const,
  ];
  const problems = compile(new Map(files.map(([name, code]) => [path.join(root, name), code])));
  expect(problems).toEqual([expect.stringMatching(/^wrong\.mts: .*clint/)]);
});

it.each(pages)('%s shows only existing commands and options', (page) => {
  const unknown = commandLinesOf(textOf(page)).filter((words) => findUnknownWord(words) !== undefined);
  expect(unknown.map((words) => words.join(' '))).toEqual([]);
});

it('an unknown command or option is detected', () => {
  const page =
    'Type `fileconv job shwo ID`, `fileconv doctor --app billing` or:\n\n```\n$ npx fileconv job list --statsu failed\n```\n';
  expect(commandLinesOf(page).map(findUnknownWord)).toEqual(['--statsu', 'shwo', undefined]);
});

it.each(pages)('%s shows only existing scripts and benchmarks', (page) => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
  const run = [...textOf(page).matchAll(/npm run ([\w:-]+)(?: -- (\w[\w-]*))?/g)];
  expect(run.map(([, script = '']) => script).filter((script) => !(script in scripts))).toEqual([]);
  const benches = run.flatMap(([, script, name]) => (script === 'bench' && name !== undefined ? [name] : []));
  expect(benches.filter((name) => !existsSync(path.join(root, `bench/${name}.ts`)))).toEqual([]);
});

it.each(numbered('toml'))('$page shows valid TOML ($number)', ({ code }) => {
  const document = parseToml(code) as Record<string, Record<string, unknown>>;
  if ('faults' in document) faultsSchema.parse(document);
  else if (isAccountsFile(document)) accountsSchema.parse(document);
  else configSchema.parse(document);
});

it.each(numbered('json'))('$page shows valid JSON ($number)', ({ code }) => {
  expect(() => JSON.parse(code) as unknown).not.toThrow();
});

function numbered(language: string): { page: string; number: number; code: string }[] {
  return pages.flatMap((page) => snippetsOf(page, language).map((code, index) => ({ page, number: index + 1, code })));
}

function isAccountsFile(document: Record<string, Record<string, unknown>>): boolean {
  const apps = Object.values(document['apps'] ?? {});
  return 'free_app' in document || apps.some((app) => typeof app === 'object' && app !== null && 'token_sha256' in app);
}

/** Type-checks in-memory files with the options of the repository. */
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
  // `npm run lint` checks the package itself.
  const sources = program.getSourceFiles().filter(({ fileName }) => files.has(fileName));
  expect(sources).toHaveLength(files.size);
  const found = sources.flatMap((source) => ts.getPreEmitDiagnostics(program, source));
  return found.map(
    ({ file, messageText }) =>
      `${path.basename(file?.fileName ?? '')}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
  );
}
