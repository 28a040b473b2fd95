import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConversionRig } from '../../../test/support/conversion-worker';
import { fileconv, filesBelow, linesOf, newFolder, removeFolders } from './fileconv';
import { envOfRig, startRigOfCommands } from './running-stack';

let rig: ConversionRig;
beforeAll(async () => {
  rig = await startRigOfCommands();
});
afterAll(async () => {
  await rig.close();
  await removeFolders();
});

async function docs(): Promise<string> {
  const folder = await newFolder();
  for (const name of ['docs/a.md', 'docs/deep/b.md', 'docs/deep/draft-c.md', 'docs/.hidden.md', 'other.md']) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), '# Hi\n');
  }
  return folder;
}

async function results(args: string[]): Promise<{ code: number | null; stderr: string[]; made: string[] }> {
  const cwd = await docs();
  const { code, stderr } = await fileconv(['convert', ...args], { cwd, env: envOfRig(rig) });
  const made = (await filesBelow(cwd)).filter((name) => name.endsWith('.html'));
  return { code, stderr: linesOf(stderr), made };
}

it.each([
  ['a folder', ['docs', '--out', 'out'], ['out/a.html']],
  [
    'with --recursive its folders too',
    ['docs', '--recursive', '--out', 'out'],
    ['out/a.html', 'out/deep/b.html', 'out/deep/draft-c.html'],
  ],
  [
    'but not what --exclude names',
    ['docs', 'other.md', '--recursive', '--exclude', 'draft-*', '--out', 'out'],
    ['out/a.html', 'out/deep/b.html', 'out/other.html'],
  ],
  ['a pattern', ['docs/**/*.md', '--exclude', 'draft-*', '--out', 'out'], ['out/a.html', 'out/deep/b.html']],
  [
    'beside each file without --out',
    ['docs', '--recursive', '--exclude', 'draft-*'],
    ['docs/a.html', 'docs/deep/b.html'],
  ],
  [
    'an --out within the folder is not searched',
    ['docs', '--recursive', '--exclude', 'deep', '--out', 'docs/out'],
    ['docs/out/a.html'],
  ],
])('converts the files of %s, as batch run finds and places them', async (_what, args, made) => {
  const ended = await results([...args, '--to', 'html']);
  expect(ended).toMatchObject({ code: 0, made });
});

it.each([
  [
    'a folder without files',
    ['docs', '--exclude', '*.md'],
    'docs holds no files to convert. To look into its folders too, add --recursive.',
  ],
  ['a pattern that fits nothing', ['docs/*.rst'], 'docs/*.rst matches no file. Check the pattern and the folder.'],
  [
    'files that are all left out',
    ['other.md', '--exclude', '*.md'],
    'There are no files to convert. Check the names, and what --exclude leaves out.',
  ],
])('refuses %s', async (_what, args, message) => {
  expect(await results([...args, '--to', 'html'])).toEqual({ code: 2, stderr: [`error: ${message}`], made: [] });
});

it('refuses a file of a folder that cannot be converted, and says how to leave it out', async () => {
  const cwd = await docs();
  await writeFile(path.join(cwd, 'docs/empty.md'), '');
  expect(await fileconv(['convert', 'docs', '--to', 'html'], { cwd, env: envOfRig(rig) })).toMatchObject({
    code: 2,
    stderr: 'error: docs/empty.md is empty. There is nothing to convert. Leave it out with --exclude.\n',
  });
});
