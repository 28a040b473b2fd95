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

it('is a job for each; when one fails it ends with 1 and the others are there, and a retry submits that one alone', async () => {
  const cwd = await folderWithReport();
  stub.on('convert/file', (seen, response) => {
    if (formatOf(seen.data) === 'html') answerError(response, 403, 'FREE_PLAN_DISALLOWED');
    else stub.answerAsAlways(seen, response);
  });
  const run = (...args: string[]) => fileconv(args, { cwd, env });
  const ended = await run('convert', 'a.md', '--to', 'pdf,docx,html', '--app', 'stub', '--json');
  expect(ended.code).toBe(1);
  expect(submits().sort()).toEqual(['docx', 'html', 'pdf']);
  expect(await filesBelow(cwd)).toEqual(['a.docx', 'a.md', 'a.pdf']);
  const { files } = z
    .object({ files: z.array(z.looseObject({ to: z.string(), status: z.string(), workflowId: z.string() })) })
    .parse(parseJson(ended.stdout));
  expect(files.map(({ to, status }) => `${to} ${status}`)).toEqual(['pdf converted', 'docx converted', 'html failed']);
  expect(files[2]).toMatchObject({
    error: { code: 'FREE_PLAN_DISALLOWED', message: expect.stringMatching(/^a\.md → html: (?!.*→)/) as unknown },
  });
  const job = files[2]?.workflowId ?? '';

  stub.on('convert/file', (seen, response) => stub.answerAsAlways(seen, response));
  expect(await run('job', 'retry', job)).toMatchObject({ code: 0 });
  expect(await run('job', 'watch', job)).toMatchObject({ code: 0 });
  expect(submits().slice(3)).toEqual(['html']);
  expect(await filesBelow(cwd)).toEqual(['a.docx', 'a.html', 'a.md', 'a.pdf']);
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
