import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { answerError } from '../../../test/support/stub-service';
import { fileconv, filesBelow, folderWith } from './fileconv';
import { envOfRig, rigOfCommandsOfAllTests } from './running-stack';

/** `fileconv convert --to pdf,docx,html`, which is a batch. */

const rig = rigOfCommandsOfAllTests();
let env: Record<string, string>;
beforeAll(() => void (env = envOfRig(rig)));

const formatOf = (data: Record<string, unknown>) => (data['parameters'] as { output: string }).output;
const submits = () =>
  rig.stub.requests.flatMap(({ path: endpoint, data }) => (endpoint === 'convert/file' ? [formatOf(data)] : []));

const folderWithReport = () => folderWith({ 'a.md': '# Report\n' });

it('uploads once for three conversions; if one fails it exits with 1, and typed again it submits only that one', async () => {
  const cwd = await folderWithReport();
  rig.stub.on('convert/file', (seen, response) => {
    if (formatOf(seen.data) === 'html') answerError(response, 400, 'INVALID_OUTPUT_FORMAT');
    else rig.stub.answerAsAlways(seen, response);
  });
  const run = (...args: string[]) =>
    fileconv(['convert', 'a.md', '--to', 'pdf,docx,html', '--app', 'stub', ...args], { cwd, env });
  const ended = await run();
  expect(ended.code).toBe(1);
  expect([rig.stub.count('upload/file'), submits().sort()]).toEqual([1, ['docx', 'html', 'pdf']]);
  expect(await filesBelow(cwd)).toEqual(['a.docx', 'a.md', 'a.pdf']);
  expect(ended.stdout).toMatch(/^1 of 3 files failed\. 2 converted\.\n[^]* {2}1 {2}INVALID_OUTPUT_FORMAT: /);

  rig.stub.on('convert/file', (seen, response) => rig.stub.answerAsAlways(seen, response));
  expect(await run()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^All 3 files are done\. 1 converted;/) as unknown,
  });
  expect(submits().slice(3)).toEqual(['html']);
  expect(await filesBelow(cwd)).toEqual(['a.docx', 'a.html', 'a.md', 'a.pdf']);
});

it('never replaces a result that no batch of these files has made', async () => {
  const cwd = await folderWithReport();
  await writeFile(path.join(cwd, 'a.html'), 'by hand');
  const run = (...args: string[]) =>
    fileconv(['convert', 'a.md', '--to', 'docx,html', '--app', 'stub', ...args], { cwd, env });
  const before = submits().length;
  expect(await run()).toMatchObject({ code: 1, stdout: expect.stringContaining('1  DESTINATION_EXISTS') as unknown });
  expect(submits().slice(before)).toEqual(['docx']);
  expect(await run('--on-existing', 'skip')).toMatchObject({ code: 0 });
  expect(await readFile(path.join(cwd, 'a.html'), 'utf8')).toBe('by hand');
});

it.each([
  ['a folder', ['docs', '--out', 'out'], ['out/a.html']],
  [
    'folders below it, but what is left out',
    ['docs', '--recursive', '--exclude', 'draft-*'],
    ['docs/a.html', 'docs/deep/b.html'],
  ],
  ['a pattern', ['docs/**/b.*', '--out', 'out'], ['out/deep/b.html']],
  ['a file that is left out all the same', ['docs/a.md', '--exclude', 'a.*'], []],
])('finds and places the files of %s like batch run', async (_what, args, made) => {
  const names = ['docs/a.md', 'docs/deep/b.md', 'docs/deep/draft-c.md'];
  const cwd = await folderWith(Object.fromEntries(names.map((name) => [name, '# Hi\n'])));
  const { code } = await fileconv(['convert', ...args, '--to', 'html', '--app', 'stub'], { cwd, env });
  expect(code).toBe(made.length === 0 ? 2 : 0);
  expect((await filesBelow(cwd)).filter((name) => name.endsWith('.html'))).toEqual(made);
});

it('works with batch run too, but not for a manifest, whose rows have one format each', async () => {
  const cwd = await folderWithReport();
  await writeFile(path.join(cwd, 'b.md'), '# Other\n');
  await writeFile(path.join(cwd, 'm.csv'), 'source,output\na.md,\nb.md,html\n');
  const run = (...args: string[]) => fileconv(['batch', 'run', ...args, '--app', 'stub'], { cwd, env });
  const [uploads, before] = [rig.stub.count('upload/file'), submits().length];
  expect(await run('a.md', 'b.md', '--to', 'pdf,docx', '--json')).toMatchObject({ code: 0 });
  expect([rig.stub.count('upload/file') - uploads, submits().length - before]).toEqual([2, 4]);
  expect(await filesBelow(cwd)).toEqual(['a.docx', 'a.md', 'a.pdf', 'b.docx', 'b.md', 'b.pdf', 'm.csv']);
  expect(await run('--manifest', 'm.csv', '--to', 'pdf,docx')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error: a row of a manifest has one format: .*\n$/) as unknown,
  });
});

interface Estimated {
  estimate: object;
}

it('stops when --max-vcredits are spent; a retry continues with more, and another batch shows its expected cost', async () => {
  const cwd = await folderWithReport();
  const batch = (...args: string[]) => fileconv(['batch', ...args], { cwd, env });
  const run = (most: string, ...args: string[]) =>
    batch('run', 'a.md', '--to', 'pdf,docx,html', '--name', 'spent', '--app', 'stub', '--max-vcredits', most, ...args);
  const ended = await run('1', '--window', '1');
  expect([ended.code, ended.stdout.split('\n').slice(0, 1)]).toEqual([
    1,
    [
      'The vCredits are spent; 2 of 3 files not tried. 1 converted. Run the same batch again with a higher --max-vcredits to continue with the rest.',
    ],
  ]);
  const same = await batch('retry', 'spent', '--json');
  expect([same.code, JSON.parse(same.stdout)]).toMatchObject([1, { status: 'budget', counts: { cancelled: 2 } }]);
  const more = await batch('retry', 'spent', '--max-vcredits', '3');
  expect([more.code, more.stdout]).toEqual([0, expect.stringMatching(/^All 3 files are done\. 2 converted;/)]);
  await writeFile(path.join(cwd, 'b.md'), '# Other\n');
  const other = (...args: string[]) => batch('run', 'b.md', '--app', 'stub', '--name', 'other', ...args);
  const dry = (...args: string[]) => other('--dry-run', ...args);
  expect((await dry('--to', 'pdf,docx,epub3')).stdout).toMatch(
    /^vCredits: about 2 \(from \d+ conversions of these pairs\)\. 1 file of other pairs not in it\.$/m,
  );
  expect((await dry('--to', 'epub3')).stdout).toContain('vCredits: not known;');
  const price = /^vCredits: .*\n/m;
  const foretold = price.exec((await dry('--to', 'pdf,docx')).stdout)?.[0];
  expect((await other('--to', 'pdf,docx')).stderr).toContain(`Batch other: 2 files to convert.\n${foretold}`);
  await writeFile(path.join(cwd, 'b.md'), '# Changed\n');
  const { estimate } = JSON.parse((await other('--to', 'pdf,docx', '--dry-run', '--json')).stdout) as Estimated;
  expect(JSON.parse((await other('--to', 'pdf,docx', '--json')).stdout)).toMatchObject({ estimate });
  expect((await other('--to', 'epub3')).stderr).not.toMatch(price);
  const wrong = await run('0');
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('It must be a number above 0, such as 500.')]);
});
