import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { ConversionRig } from '../../../test/support/conversion-worker';
import { answerError, type StubService } from '../../../test/support/stub-service';
import { until } from '../../../test/support/until';
import {
  fileconv,
  filesBelow,
  linesOf,
  newFolder,
  parseJson,
  removeFolders,
  startFileconv,
  startProcess,
} from './fileconv';
import { envOfRig, startRigOfCommands } from './running-stack';

/** `fileconv convert --to pdf,docx,html`. */

let rig: ConversionRig;
let stub: StubService;
let env: Record<string, string>;
beforeAll(async () => {
  rig = await startRigOfCommands();
  ({ stub } = rig);
  env = envOfRig(rig);
});
afterAll(async () => {
  await rig.close();
  await removeFolders();
});

const formatOf = (data: Record<string, unknown>) => (data['parameters'] as { output: string }).output;
const submits = () =>
  stub.requests.flatMap(({ path: endpoint, data }) => (endpoint === 'convert/file' ? [formatOf(data)] : []));

async function folderWithReport(): Promise<string> {
  const cwd = await newFolder();
  await writeFile(path.join(cwd, 'a.md'), '# Report\n');
  return cwd;
}

it('is one upload and three converts; when one fails it ends with 1 and two files, and typed again submits the third alone', async () => {
  const cwd = await folderWithReport();
  stub.on('convert/file', (seen, response) => {
    if (formatOf(seen.data) === 'html') answerError(response, 400, 'INVALID_OUTPUT_FORMAT');
    else stub.answerAsAlways(seen, response);
  });
  const run = (...args: string[]) =>
    fileconv(['convert', 'a.md', '--to', 'pdf,docx,html', '--app', 'stub', ...args], { cwd, env });
  const ended = await run('--json');
  expect(ended.code).toBe(1);
  expect([stub.count('upload/file'), submits().sort()]).toEqual([1, ['docx', 'html', 'pdf']]);
  expect(await filesBelow(cwd)).toEqual(['a.docx', 'a.md', 'a.pdf']);
  const { batch, files } = z
    .object({ batch: z.string(), files: z.array(z.looseObject({ to: z.string(), status: z.string() })) })
    .parse(parseJson(ended.stdout));
  expect(batch).toMatch(/^convert-a\.md-[0-9a-f]{16}$/);
  expect(files.map(({ to, status }) => `${to} ${status}`)).toEqual(['pdf converted', 'docx converted', 'html failed']);
  expect(files[2]).toMatchObject({
    workflowId: expect.stringMatching(/\/a\.html-[0-9a-f]{16}$/) as unknown,
    error: { code: 'INVALID_OUTPUT_FORMAT', message: expect.stringMatching(/^a\.md → html: (?!.*→)/) as unknown },
  });

  stub.on('convert/file', (seen, response) => stub.answerAsAlways(seen, response));
  const again = await run();
  expect(again).toMatchObject({ code: 0, stderr: expect.stringMatching(/^1 converted, 2 skipped\.$/m) as unknown });
  expect(linesOf(again.stdout)).toHaveLength(3);
  expect(submits().slice(3)).toEqual(['html']);
  expect(await filesBelow(cwd)).toEqual(['a.docx', 'a.html', 'a.md', 'a.pdf']);
});

it('never replaces results that no command of these files has made', async () => {
  const cwd = await folderWithReport();
  await writeFile(path.join(cwd, 'a.html'), 'by hand');
  const run = (...args: string[]) =>
    fileconv(['convert', 'a.md', '--to', 'docx,html', '--app', 'stub', ...args], { cwd, env });
  const before = submits().length;
  expect(await run()).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error: a\.html exists already\./m) as unknown,
  });
  expect(submits()).toHaveLength(before);
  const skipped = await run('--on-existing', 'skip');
  expect(skipped).toMatchObject({ code: 0, stderr: expect.stringMatching(/^1 converted, 1 skipped\.$/m) as unknown });
  expect(linesOf(skipped.stdout).sort()).toEqual([
    expect.stringMatching(/^\[1\/2\] a\.md → a\.docx \(/),
    '[2/2] a.md skipped: its result exists',
  ]);
});

it('goes on, when it is typed again, where a killed command has left it, though a result is there', async () => {
  const cwd = await folderWithReport();
  const held: (() => void)[] = [];
  stub.on('convert/file', (seen, response) => {
    if (formatOf(seen.data) === 'html') held.push(() => stub.answerAsAlways(seen, response));
    else stub.answerAsAlways(seen, response);
  });
  const args = ['convert', 'a.md', '--to', 'pdf,html', '--app', 'stub'];
  const before = { uploads: stub.count('upload/file'), submits: submits().length };
  const killed = startProcess(args, { cwd, env });
  await until('the first result', () => held.length === 1 && existsSync(path.join(cwd, 'a.pdf')));
  killed.child.kill('SIGKILL');
  await killed.ended;
  const again = startFileconv(args, { cwd, env });
  await again.until(/Batch convert-a\.md-\w+ converts these files already; waiting for it\./);
  await writeFile(path.join(cwd, 'a.md'), '# Another\n');
  held.forEach((answer) => answer());
  const ended = await again.ended;
  expect(ended).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('warning: a.md has changed since it was uploaded.') as unknown,
  });
  expect(await filesBelow(cwd)).toEqual(['a.html', 'a.md', 'a.pdf']);
  expect([stub.count('upload/file') - before.uploads, submits().length - before.submits]).toEqual([1, 2]);
  stub.on('convert/file', (seen, response) => stub.answerAsAlways(seen, response));
});

it('names the batch that converts more than a command does, with the same arguments', async () => {
  const cwd = await newFolder();
  await mkdir(path.join(cwd, 'in'));
  for (let file = 0; file < 251; file += 1) await writeFile(path.join(cwd, 'in', `${file}.md`), '#\n');
  const ended = await fileconv(
    ['convert', 'in', '--to', 'pdf,html', '--out', 'out', '--tag', 'march', '--app', 'stub'],
    { cwd, env },
  );
  expect(ended).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      'error: That makes 502 results, and this command makes 500 at most. For more: fileconv batch run in --to pdf,html --out out --tag march --app stub\n',
    ) as unknown,
  });
});

it('refuses two formats whose results would have one name, before anything is started', async () => {
  const cwd = await folderWithReport();
  const ended = await fileconv(['convert', 'a.md', '--to', 'txt,txt-markdown', '--app', 'stub'], { cwd, env });
  expect(ended.code).toBe(2);
  expect(ended.stderr).toContain('a.md would become a.txt as txt and as txt-markdown');
});

it('is one upload a file in a batch, too; the formats of a manifest are in its rows', async () => {
  const cwd = await folderWithReport();
  await writeFile(path.join(cwd, 'b.md'), '# Other\n');
  await writeFile(path.join(cwd, 'm.csv'), 'source,output\na.md,\nb.md,html\n');
  const run = (...args: string[]) => fileconv(['batch', 'run', ...args, '--app', 'stub'], { cwd, env });
  const [uploads, before] = [stub.count('upload/file'), submits().length];
  const ended = await run('a.md', 'b.md', '--to', 'pdf,docx', '--json');
  expect(ended).toMatchObject({ code: 0 });
  expect([stub.count('upload/file') - uploads, submits().length - before]).toEqual([2, 4]);
  expect(await filesBelow(cwd)).toEqual(['a.docx', 'a.md', 'a.pdf', 'b.docx', 'b.md', 'b.pdf', 'm.csv']);
  expect(await run('--manifest', 'm.csv', '--to', 'pdf,docx')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error: a row of a manifest has one format: .*\n$/) as unknown,
  });
});
