import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileconv, linesOf, newFolder, parseJson } from './fileconv';
import { stackOfAllTests } from './running-stack';

const stack = stackOfAllTests();

async function folderWith(...names: string[]): Promise<(...args: string[]) => ReturnType<typeof fileconv>> {
  const cwd = await newFolder();
  for (const name of names) await writeFile(path.join(cwd, name), '# Hi\n');
  return (...args) => fileconv(['batch', ...args], { cwd, env: stack.env });
}

const uploads = async () => {
  const { stdout } = await fileconv(['service', 'tasks', 'list', '--json', '--limit', '1000'], {
    cwd: stack.stateDir,
    env: stack.env,
  });
  return [...stdout.matchAll(/v1\/upload\/file/g)].length;
};

it('--unconvertible skip leaves out pairs the service cannot convert, warns, and counts them separately', async () => {
  const batch = await folderWith('a.md', 'b.csv', 'c.png');
  const before = await uploads();
  const ended = await batch('run', '.', '--to', 'epub', '--name', 'skipping', '--unconvertible', 'skip', '--json');
  expect(ended.code).toBe(0);
  expect(ended.stderr).toMatch(/warning: 1 file of format png can't be converted, and will be skipped: the service/);
  expect(await uploads()).toBe(before + 2);
  const run = path.join(stack.stateDir, 'batches', 'skipping', 'run-0001');
  const report = parseJson(await readFile(path.join(run, 'report.json'), 'utf8'));
  expect(report).toMatchObject({ counts: { succeeded: 2, skipped: 1, failed: 0 }, unconvertible: 1, failures: [] });
  expect(await readFile(path.join(run, 'report.csv'), 'utf8')).toMatch(/c\.png.*NO_CONVERTER_INPUT_TO_OUTPUT/);
  expect((await batch('report', 'skipping')).stdout).toContain('1 skipped: the service does not convert them.');
});

it('--unconvertible skip exits with 0 even if nothing is left to convert', async () => {
  const batch = await folderWith('c.png');
  const ended = await batch('run', '.', '--to', 'epub', '--name', 'nothing', '--unconvertible', 'skip');
  expect(ended.code).toBe(0);
  expect(linesOf(ended.stdout)).toEqual(['Batch nothing: nothing to do, 0 files done before, 1 file skipped.']);
});
