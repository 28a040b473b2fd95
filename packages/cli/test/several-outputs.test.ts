import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { ConversionRig } from '../../../test/support/conversion-worker';
import { answerError, answerRunning, type StubService } from '../../../test/support/stub-service';
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

it('is one upload and three converts; when one fails it ends with 1 and two files, and a retry submits the third alone', async () => {
  const cwd = await folderWithReport();
  stub.on('convert/file', (seen, response) => {
    if (formatOf(seen.data) === 'html') answerError(response, 403, 'FREE_PLAN_DISALLOWED');
    else stub.answerAsAlways(seen, response);
  });
  const run = (...args: string[]) => fileconv(args, { cwd, env });
  const ended = await run('convert', 'a.md', '--to', 'pdf,docx,html', '--app', 'stub', '--json');
  expect(ended.code).toBe(1);
  expect([stub.count('upload/file'), submits().sort()]).toEqual([1, ['docx', 'html', 'pdf']]);
  expect(await filesBelow(cwd)).toEqual(['a.docx', 'a.md', 'a.pdf']);
  const { files } = z
    .object({ files: z.array(z.looseObject({ to: z.string(), status: z.string(), workflowId: z.string() })) })
    .parse(parseJson(ended.stdout));
  expect(files.map(({ to, status }) => `${to} ${status}`)).toEqual(['pdf converted', 'docx converted', 'html failed']);
  expect(files[2]).toMatchObject({
    error: { code: 'FREE_PLAN_DISALLOWED', message: expect.stringMatching(/^a\.md → html: (?!.*→)/) as unknown },
  });
  const job = files[0]?.workflowId ?? '';

  stub.on('convert/file', (seen, response) => stub.answerAsAlways(seen, response));
  expect(await run('job', 'retry', job)).toMatchObject({ code: 0 });
  expect(await run('job', 'watch', job)).toMatchObject({ code: 0 });
  expect(submits().slice(3)).toEqual(['html']);
  expect(await filesBelow(cwd)).toEqual(['a.docx', 'a.html', 'a.md', 'a.pdf']);
  const shown = linesOf((await run('job', 'show', job)).stdout).filter((line) => line.startsWith('To '));
  expect(shown.map((line) => line.slice(0, 40))).toEqual(
    ['pdf', 'docx', 'html'].map(
      (format) => expect.stringMatching(new RegExp(`^To +${format}, succeeded: file:`)) as unknown,
    ),
  );
});

it('prints a line for each result, and takes up what is missing when it is typed again', async () => {
  const cwd = await folderWithReport();
  const run = (...args: string[]) => fileconv(['convert', 'a.md', '--to', 'docx,html', ...args], { cwd, env });
  const ended = await run('--out', 'out');
  expect(ended).toMatchObject({ code: 0 });
  expect(linesOf(ended.stdout)).toEqual([
    expect.stringMatching(/^\[1\/2\] a\.md → out\/a\.docx \(/),
    expect.stringMatching(/^\[2\/2\] a\.md → out\/a\.html \(/),
  ]);
  expect(await run('--out', 'out')).toMatchObject({ code: 2 });
  const again = await run('--out', 'out', '--on-existing', 'skip');
  expect(again.code).toBe(0);
  expect(linesOf(again.stdout)).toHaveLength(2);
});

it('waits, when it is typed again, for the job that has written one result and continues', async () => {
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
  await again.until(/converts it already; waiting/);
  held.forEach((answer) => answer());
  expect(await again.ended).toMatchObject({ code: 0 });
  expect(await filesBelow(cwd)).toEqual(['a.html', 'a.md', 'a.pdf']);
  expect([stub.count('upload/file') - before.uploads, submits().length - before.submits]).toEqual([1, 2]);
  stub.on('convert/file', (seen, response) => stub.answerAsAlways(seen, response));

  await rm(path.join(cwd, 'a.html'));
  const refused = await fileconv(args, { cwd, env });
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('error: a.pdf exists already.') as unknown,
  });
  expect(stub.count('upload/file')).toBe(before.uploads + 1);
});

it('tells which results are there when its job is cancelled', async () => {
  const cwd = await folderWithReport();
  let html = '';
  stub.on('convert/file', (seen, response) => {
    const id = stub.convert(seen);
    if (formatOf(seen.data) === 'html') html = id;
    answerRunning(response, id);
  });
  stub.on('task/response', (seen, response) => {
    const id = String(seen.data['connector']);
    if (id === html) answerRunning(response, id);
    else stub.answerAsAlways(seen, response);
  });
  const command = startFileconv(['convert', 'a.md', '--to', 'pdf,html', '--app', 'stub', '--json'], { cwd, env });
  await until('the first result', () => html !== '' && existsSync(path.join(cwd, 'a.pdf')));
  // Of this file's own task queue: other files run jobs in this namespace, too.
  const query = `TaskQueue = '${rig.taskQueue}' AND WorkflowType = 'conversionJob' AND ExecutionStatus = 'Running'`;
  let job: string | undefined;
  await until('it is listed', async () => {
    for await (const { workflowId } of rig.temporal.workflow.list({ query })) {
      if (!workflowId.endsWith('/html')) job = workflowId;
    }
    return job !== undefined;
  });
  expect(await fileconv(['job', 'cancel', job ?? ''], { cwd, env })).toMatchObject({ code: 0 });
  const ended = await command.ended;
  expect(ended.code).toBe(1);
  const { files } = z
    .object({ files: z.array(z.looseObject({ to: z.string(), status: z.string() })) })
    .parse(parseJson(ended.stdout));
  expect(files.map(({ to, status }) => `${to} ${status}`)).toEqual(['pdf converted', 'html failed']);
  for (const endpoint of ['convert/file', 'task/response'])
    stub.on(endpoint, (seen, response) => stub.answerAsAlways(seen, response));
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
