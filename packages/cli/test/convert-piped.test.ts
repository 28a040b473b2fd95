import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import {
  commandEnv,
  fileconv,
  filesBelow,
  folderWith,
  linesOf,
  mainFile,
  newFolder,
  parseJson,
  startFileconv,
  withoutEverydayWaits,
} from './fileconv';
import { hasScript, onScreen } from './pseudo-terminal';
import { sharedStackOfTests } from './running-stack';

const stack = sharedStackOfTests();

/** Files that commands left behind in the pipes folder. */
const left = () => readdir(path.join(stack.stateDir, 'pipes')).catch(() => []);
const toStdout = ['convert', '-', '--from', 'md', '--to', 'html', '--out', '-'];

/** Sets a title: without one, the file name becomes the title of the page. */
const page = (name: string): string => `---\ntitle: ${name}\n---\n\n# ${name}\n`;

const piping = (args: readonly string[], { input, cwd, env }: { input: string; cwd: string; env?: object }) =>
  startFileconv(args, { input, cwd, env: { ...stack.env, ...env } });

it('writes the same bytes to standard output as to a file, and leaves nothing behind', async () => {
  const cwd = await folderWith({ 'a.md': page('Same') });
  expect(await fileconv(['convert', 'a.md', '--to', 'html'], { cwd, env: stack.env })).toMatchObject({ code: 0 });
  const file = await readFile(path.join(cwd, 'a.html'), 'utf8');
  const fromStdin = await piping(toStdout, { input: page('Same'), cwd }).ended;
  expect(fromStdin).toMatchObject({ code: 0, stdout: file });
  expect(fromStdin.stderr).toMatch(/^standard input is converted \([\d.]+ kB, [\d.]+ s\)\n$/);
  const fromFile = await fileconv(['convert', 'a.md', '--to', 'html', '--out', '-'], { cwd, env: stack.env });
  expect(fromFile).toMatchObject({ code: 0, stdout: file });
  expect([await left(), await filesBelow(cwd)]).toEqual([[], ['a.html', 'a.md']]);
});

it('writes the result of standard input to the file of --out, which --on-existing protects', async () => {
  const cwd = await newFolder();
  const args = ['convert', '-', '--from', 'md', '--to', 'html', '--out', 'report.html'];
  const ended = await piping(args, { input: page('To a file'), cwd }).ended;
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout).toMatch(/^standard input → report\.html \(/);
  expect(await readFile(path.join(cwd, 'report.html'), 'utf8')).toContain('To a file');
  expect(await piping(args, { input: page('Another'), cwd }).ended).toMatchObject({ code: 2, stdout: '' });
  expect(await left()).toEqual([]);
});

it('exits with 141 if its reader ends early, says where the result is, and delivers it when typed again', async () => {
  const cwd = await folderWith({ 'a.md': `${page('Long')}\n${'word '.repeat(20_000)}` });
  const args = ['convert', 'a.md', '--to', 'html', '--out', '-'];
  const command = `"$0" "$1" ${args.join(' ')} 2> stderr | head -c 10; echo " \${PIPESTATUS[0]}"`;
  const { stdout } = spawnSync('bash', ['-c', command, process.execPath, mainFile], {
    cwd,
    env: commandEnv(stack.env),
    encoding: 'utf8',
  });
  expect(stdout).toBe('<!DOCTYPE  141\n');
  expect(linesOf(withoutEverydayWaits(await readFile(path.join(cwd, 'stderr'), 'utf8')))).toEqual([
    expect.stringMatching(/^a\.md is converted \(/),
    expect.stringMatching(/^The reader of standard output stopped early\. The result is \S+\/result\.html; the same/),
  ]);
  const again = await fileconv(args, { cwd, env: stack.env });
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('Long') as unknown });
  expect(linesOf(again.stderr)).toEqual([
    expect.stringMatching(/^An earlier command was ended before it could deliver this/),
  ]);
  expect(await left()).toEqual([]);
});

function onFullDisk(args: string, cwd: string) {
  const command = `"$0" "$1" ${args} > /dev/full`;
  const options = { cwd, env: commandEnv(stack.env), encoding: 'utf8' } as const;
  return spawnSync('bash', ['-c', command, process.execPath, mainFile], options);
}

it('fails in one line if standard output is on a full disk; the same command again delivers the result', async () => {
  const cwd = await folderWith({ 'a.md': page('Full') });
  const ended = onFullDisk('convert a.md --to html --out -', cwd);
  expect(ended.status).toBe(1);
  expect(linesOf(withoutEverydayWaits(ended.stderr)).slice(1)).toEqual([
    expect.stringMatching(/^error: Standard output cannot be written: no space is left.*The same command again/),
  ]);
  expect(await left()).toHaveLength(1);
  const again = await fileconv(['convert', 'a.md', '--to', 'html', '--out', '-'], { cwd, env: stack.env });
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('Full') as unknown });
  expect(again.stderr).toMatch(/^An earlier command was ended/);
  expect(await left()).toEqual([]);
});

it('any command fails in one line if standard output is on a full disk', async () => {
  const ended = onFullDisk('config show', await newFolder());
  expect([ended.status, linesOf(ended.stderr)]).toEqual([
    1,
    [expect.stringMatching(/^error: Standard output cannot be written: no space is left/)],
  ]);
});

it('exits with 1 if the conversion fails, writes nothing to standard output and leaves nothing behind', async () => {
  const cwd = await newFolder();
  const args = ['convert', '-', '--from', 'png', '--to', 'webp', '--out', '-'];
  const ended = await piping(args, { input: 'no picture', cwd }).ended;
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toMatch(/^error: standard input → webp: /);
  expect(await left()).toEqual([]);
});

it.each<[line: string, message: RegExp]>([
  ['- --to pdf --out -', /Name the format: --from FORMAT/],
  ['- --from foo --to pdf --out -', /The input format foo is not known\. See: fileconv formats/],
  ['- --from png --to docx --out -', /png to docx/],
  ['- --from md --to pdf', /--out FILE, or --out -/],
  ['- a.md --from md --to pdf --out -', /Name it alone/],
  ['a.md b.md --to pdf --out -', /of one file, and 2 are named/],
  ['- --from md --to pdf --out -', /standard input is empty/],
  ['- --from md --to pdf --out .', /it is a folder\. Choose another/],
  ['. --to pdf --out -', /^error: \. is a folder\. Name a file in it\.$/m],
  ['- --from md --to pdf --out new/', /is a folder.*new\/stdin\.pdf/],
])('refuses %s in one line before anything is started', async (line, message) => {
  const cwd = await folderWith({ 'a.md': '# A', 'b.md': '# B' });
  const ended = await piping(['convert', ...line.split(' ')], { input: '', cwd }).ended;
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect([linesOf(ended.stderr), await left()]).toEqual([[expect.stringMatching(message)], []]);
});

it('refuses --json with --out - as a JSON document', async () => {
  const ended = await piping([...toStdout, '--json'], { input: '# A', cwd: await newFolder() }).ended;
  expect(ended.code).toBe(2);
  expect(parseJson(ended.stdout)).toMatchObject({ error: { code: 'USAGE' } });
});

it('reads no more of standard input than the service accepts, and names the limit', async () => {
  const env = { FILECONV_SERVICE_MAX_UPLOAD_BYTES: '2000' };
  const ended = await piping(toStdout, { input: 'x'.repeat(2_001), cwd: await newFolder(), env }).ended;
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toMatch(/standard input is larger than the service accepts: 2\.0 kB \(2000 bytes\)/);
  expect(await left()).toEqual([]);
});

(hasScript ? it : it.skip)('refuses a terminal as standard input instead of waiting for somebody to type', async () => {
  const { raw, code } = await onScreen(['convert', '-', '--from', 'md', '--to', 'html', '--out', 'x.html'], {
    cwd: await newFolder(),
    env: stack.env,
  });
  expect(code).toBe(2);
  expect(raw).toContain('Standard input is a terminal');
});
