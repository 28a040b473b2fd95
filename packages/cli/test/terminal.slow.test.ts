import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { eraseEcho } from '../src/output/output';
import { newFolder } from './fileconv';
import { columns, escape, hasScript, onScreen as showOnScreen, screenOf } from './pseudo-terminal';
import { startStack, type RunningStack } from './running-stack';
import { noisyPng } from './samples';

const onTerminal = hasScript ? describe : describe.skip;

let stack: RunningStack;
beforeAll(async () => {
  if (hasScript) stack = await startStack({ FILECONV_CALLBACKS_EMBEDDED: 'off' });
});
afterAll(async () => {
  if (hasScript) await stack.stop();
});

const onScreen = (args: string[], options: { cwd: string; env?: Record<string, string>; interrupt?: RegExp }) =>
  showOnScreen(args, { ...options, env: { ...stack.env, ...options.env } });

async function folderWithPictures(): Promise<string> {
  const folder = await newFolder();
  for (const name of ['one.png', `${'long '.repeat(12)}.png`]) await writeFile(path.join(folder, name), noisyPng(8));
  await writeFile(path.join(folder, 'half.png'), noisyPng(8).subarray(0, 60));
  return folder;
}

const slowly = { FILECONV_POLICIES_FIRST_CHECK_AFTER: '3 seconds' };
const longName = `${'long '.repeat(12)}.png`;
const files = ['one.png', longName];

onTerminal('convert on a terminal', () => {
  it('shows the progress of a file, and leaves only the result', async () => {
    const cwd = await folderWithPictures();
    const { raw, code } = await onScreen(['convert', longName, '--to', 'gif'], { cwd, env: slowly });
    expect(code).toBe(0);
    expect(raw).toMatch(/ \d s {2}long .*….*long \.png → gif {2}(uploading|converting)/);
    const shown = raw.split(/[\r\n]+/).filter((line) => / → gif {2}/.test(line));
    const sgr = new RegExp(`${escape}\\[[\\d;]*[A-Za-z]`, 'g');
    expect(Math.max(...shown.map((line) => line.replace(eraseEcho, '').replace(sgr, '').length))).toBeLessThan(columns);
    expect(screenOf(raw)).toEqual([expect.stringMatching(/ → .* \(/)]);
  });

  it('says on Ctrl-C what happens to several files', async () => {
    const { raw, code } = await onScreen(['convert', ...files, '--to', 'gif'], {
      cwd: await folderWithPictures(),
      env: slowly,
      interrupt: /2 in flight/,
    });
    expect(code).toBe(130);
    expect(screenOf(raw).join('\n')).toMatch(/Detached from batch \S+\. It /);
    expect(screenOf(raw).join('\n')).not.toContain('of 2,');
  });

  it('colours errors, unless NO_COLOR is set', async () => {
    const cwd = await folderWithPictures();
    const args = ['convert', 'half.png', '--to', 'gif'];
    const [coloured, plain] = await Promise.all([
      onScreen(args, { cwd }),
      onScreen(args, { cwd, env: { NO_COLOR: '1' } }),
    ]);
    expect(coloured.raw).toContain(`${escape}[31merror:${escape}[39m half.png → gif: `);
    expect(plain.raw).toContain('error: half.png → gif: ');
    expect(plain.raw).not.toMatch(new RegExp(`${escape}\\[\\d+m`));
    expect([coloured.code, plain.code]).toEqual([1, 1]);
  });

  it('shows only the document with --json', async () => {
    const cwd = await folderWithPictures();
    const { raw, code } = await onScreen(['convert', 'one.png', '--to', 'gif', '--json'], { cwd, env: slowly });
    expect(code).toBe(0);
    expect(raw).not.toContain(escape);
    expect(JSON.parse(raw)).toMatchObject({ status: 'converted' });
  });
});
