import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { root, snippetsOf } from '../../../test/docs/pages';
import { linesOf, newFolder } from './fileconv';
import { sharedStackOfTests } from './running-stack';

const stack = sharedStackOfTests();

const [program = ''] = snippetsOf('README.md', 'ts').filter((code) => code.includes('startBatch'));

/** Runs the program as a CommonJS or ES module and returns the lines it prints. */
async function run(cwd: string, kind: 'cjs' | 'mjs'): Promise<string[]> {
  const module = kind === 'cjs' ? ts.ModuleKind.CommonJS : ts.ModuleKind.ES2022;
  const { outputText } = ts.transpileModule(program, { compilerOptions: { module, target: ts.ScriptTarget.ES2022 } });
  await writeFile(path.join(cwd, `archive.${kind}`), outputText);
  const env = { ...process.env, TEMPORAL_ADDRESS: stack.record.temporal.address };
  return linesOf((await promisify(execFile)(process.execPath, [`archive.${kind}`], { cwd, env })).stdout);
}

it("the README's program of 25 lines converts a folder; run again as the other kind of module, it converts nothing", async () => {
  expect(linesOf(program).length).toBeLessThanOrEqual(25);
  const cwd = await newFolder();
  await symlink(path.join(root, 'node_modules'), path.join(cwd, 'node_modules'));
  await mkdir(path.join(cwd, 'invoices'));
  for (const number of [1, 2, 3]) {
    await writeFile(path.join(cwd, 'invoices', `invoice-${number}.md`), `# Invoice ${number}\n`);
  }
  await writeFile(path.join(cwd, 'invoices', 'empty.md'), '');
  const report = (number: number) => path.join(cwd, `.fileconv/batches/invoices/run-000${number}/report.html`);
  expect((await run(cwd, 'cjs')).slice(-3)).toEqual([
    '4 of 4',
    expect.stringMatching(/^1: .*empty/) as string,
    `3 converted, 0 done before: ${report(1)}`,
  ]);
  expect((await run(cwd, 'mjs')).at(-1)).toBe(`0 converted, 3 done before: ${report(2)}`);
});
