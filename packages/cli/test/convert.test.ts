import { readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { until } from '../../../test/support/until';
import { fileconv, filesBelow, folderWith, linesOf, parseJson } from './fileconv';
import { sharedStackOfTests } from './running-stack';
import { noisyPng } from './samples';

const stack = sharedStackOfTests();

const convert = (cwd: string, ...args: string[]) => fileconv(['convert', ...args], { cwd, env: stack.env });

it('prints where the result is, its size and the time taken, in one line on stdout', async () => {
  const folder = await folderWith({ 'report.md': '# Report\n' });
  const ended = await convert(folder, 'report.md', '--to', 'docx');
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout).toMatch(/^report\.md → report\.docx \(\d+\.\d kB, \d+\.\d s\)\n$/);
  expect(await filesBelow(folder)).toEqual(['report.docx', 'report.md']);
});

it('--json prints one JSON document, and for several files the report of their batch', async () => {
  const folder = await folderWith({ 'b.png': noisyPng(8), 'a.png': noisyPng(8).subarray(0, 60) });
  const output = path.join(folder, 'b.webp');
  const seconds = expect.any(Number) as unknown;
  const good = await convert(folder, 'b.png', '--to', 'webp', '--json');
  expect(good.code).toBe(0);
  expect(parseJson(good.stdout)).toEqual({
    file: 'b.png',
    to: 'webp',
    status: 'converted',
    workflowId: expect.stringMatching(/\/b\.webp-[0-9a-f]{16}$/) as unknown,
    output: {
      uri: pathToFileURL(output).href,
      path: output,
      name: 'b.webp',
      bytes: (await readFile(output)).length,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
    },
    seconds,
    possiblyChargedTwice: false,
    warnings: {},
  });
  const bad = await convert(folder, 'a.png', '--to', 'webp', '--json');
  expect(bad.code).toBe(1);
  expect(parseJson(bad.stdout)).toEqual({
    file: 'a.png',
    to: 'webp',
    status: 'failed',
    workflowId: expect.any(String) as unknown,
    seconds,
    error: { code: 'FAILED_CONVERT', message: expect.stringMatching(/^a\.png → webp: /) as unknown },
  });
  const both = await convert(folder, 'b.png', 'a.png', '--to', 'gif', '--json');
  expect(both.code).toBe(1);
  expect(parseJson(both.stdout)).toMatchObject({
    batch: expect.stringMatching(/^b-png-gif-[0-9a-f]{6}$/) as unknown,
    counts: { items: 2, succeeded: 1, failed: 1 },
    failures: [{ code: 'FAILED_CONVERT', count: 1 }],
  });
});

it('shows the warnings of the service without failing', async () => {
  const folder = await folderWith({ 'report.md': '![A picture](missing.png)\n' });
  const ended = await convert(folder, 'report.md', '--to', 'docx');
  expect(ended.code).toBe(0);
  expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(/^warning: report\.md: \w+: .*missing\.png/)]);
});

describe('unusual file names', () => {
  const names = [
    '.hidden  Grüße 請求 🙂.MD',
    'C# 100%25 sure? a&b;c$d`e\'f"g.md',
    'back\\slash.two.dots.md',
    '🙂'.repeat(45) + '.md',
    `${'n'.repeat(240)}.md`,
  ];

  it('keep their names in the results', async () => {
    const folder = await folderWith(Object.fromEntries(names.map((name) => [name, `# ${name}`])));
    const ended = await convert(folder, ...names, '--to', 'html', '--out', 'out of #1?');
    expect([ended.code, linesOf(ended.stdout)[0]]).toEqual([0, `All ${names.length} files are converted.`]);
    const results = names.map((name) => `${path.parse(name).name}.html`);
    expect((await filesBelow(path.join(folder, 'out of #1?'))).sort()).toEqual([...results].sort());
  });

  it('are escaped when they contain control characters', async () => {
    const name = 'two\nlines\u001b[31m.md';
    const folder = await folderWith({ [name]: '# Hi' });
    const ended = await convert(folder, name, '--to', 'html');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(/^two\\x0alines\\x1b\[31m\.md → two\\x0alines\\x1b\[31m\.html \(.*\)\n$/);
    expect(await filesBelow(folder)).toEqual(['two\nlines\u001b[31m.html', name].sort());
  });

  it('may begin with a dash after --', async () => {
    const ended = await convert(await folderWith({ '-x.md': '# X', '--json': 'x' }), '--to', 'html', '--', '-x.md');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(/^-x\.md → -x\.html \(/);
  });

  it('may be links: the target is converted and stays', async () => {
    const folder = await folderWith({ 'there/real.md': '# Real' });
    await symlink('there/real.md', path.join(folder, 'link.md'));
    expect(await convert(folder, 'link.md', '--to', 'html')).toMatchObject({ code: 0, stderr: '' });
    expect(await filesBelow(folder)).toEqual(['link.html', 'link.md', 'there', 'there/real.md']);
    expect(await readFile(path.join(folder, 'there/real.md'), 'utf8')).toBe('# Real');
  });

  it('may be far away: the result is next to the file, and the printed path works from here', async () => {
    const folder = await folderWith({ 'deep/down/here/file.txt': 'x', 'other/a.md': '# A' });
    const cwd = path.join(folder, 'deep/down/here');
    const near = await convert(path.join(folder, 'deep'), '../other/a.md', '--to', 'html');
    expect(near.stdout).toMatch(/^\.\.\/other\/a\.md → \.\.\/other\/a\.html \(/);
    const far = await convert(cwd, path.join(folder, 'other/a.md'), '--to', 'docx');
    expect(far.stdout).toContain(` → ${path.join(folder, 'other/a.docx')} (`);
  });
});

describe('--on-existing', () => {
  const existing = () => folderWith({ 'a.md': '# New', 'a.html': 'old' });
  const read = (folder: string, name: string) => readFile(path.join(folder, name), 'utf8');

  it('fail, the default: starts nothing and keeps the file', async () => {
    const folder = await existing();
    const ended = await convert(folder, 'a.md', '--to', 'html', '--on-existing', 'fail');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect([linesOf(ended.stderr).length, await read(folder, 'a.html')]).toEqual([1, 'old']);
  });

  it('skip: keeps the file and succeeds', async () => {
    const folder = await existing();
    const ended = await convert(folder, 'a.md', '--to', 'html', '--on-existing', 'skip');
    expect(ended).toMatchObject({ code: 0, stdout: 'a.md skipped: its result exists\n', stderr: '' });
    expect(await read(folder, 'a.html')).toBe('old');
  });

  it('rename: numbers the result and shows its name', async () => {
    const folder = await existing();
    const ended = await convert(folder, 'a.md', '--to', 'html', '--on-existing', 'rename');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(/^a\.md → a \(1\)\.html \(/);
    expect(await read(folder, 'a.html')).toBe('old');
    expect(await read(folder, 'a (1).html')).toContain('New');
  });

  it('comes from the configuration if the option is not given', async () => {
    const folder = await existing();
    await writeFile(path.join(folder, 'fileconv.toml'), '[policies]\non_existing = "skip"\n');
    expect(await convert(folder, 'a.md', '--to', 'html')).toMatchObject({ code: 0, stderr: '' });
  });
});

it('job list --tag finds the jobs of convert and batch run with that tag, also those of later runs of the batch', async () => {
  const folder = await folderWith({ 'one.md': '# One\n', 'in/two.md': '# Two\n' });
  const tags = ['--tag', "year's end", '--tag', 'second'];
  await convert(folder, 'one.md', '--to', 'docx', ...tags);
  const batch = (...args: string[]) => fileconv(['batch', ...args], { cwd: folder, env: stack.env });
  const run = ['run', 'in', '--to', 'docx', '--name', 'tagged'];
  expect(await batch(...run, ...tags)).toMatchObject({ code: 0 });
  await writeFile(path.join(folder, 'in/broken.odt'), 'no document');
  expect(await batch(...run, '--tag', "year's end")).toMatchObject({ code: 1 });
  expect(await batch('retry', 'tagged')).toMatchObject({ code: 1 });
  const listed = async (tag: string) => {
    const { stdout } = await fileconv(['job', 'list', '--tag', tag, '--json'], { cwd: folder, env: stack.env });
    return (parseJson(stdout) as { jobs: { summary: string }[] }).jobs.map(({ summary }) => summary).sort();
  };
  const all = ['broken.odt → docx', 'broken.odt → docx', 'one.md → docx', 'two.md → docx'];
  await until('all are listed', async () => (await listed("year's end")).length === all.length);
  expect(await listed("year's end")).toEqual(all);
  expect(await listed('second')).toEqual(['one.md → docx', 'two.md → docx']);
  expect(await convert(folder, 'one.md', '--to', 'docx', '--tag', 'the "good"')).toMatchObject({ code: 2, stdout: '' });
});
