import { randomUUID } from 'node:crypto';
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorCodes, type KnownErrorCode } from '../../src/contract/error-codes';
import type { BatchItemResult } from '../../src/batch/model/state';
import { type BatchHandle, type InlineItem, InvalidRequestError } from '../../src/client/index';
import { collect } from '../batch/folder';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { answerError } from '../support/stub-service';
import { until } from '../support/until';

/** Rows that convert one file to several formats upload it once. */

const rig = rigOfEachTest();
let name: string;
let folder: string;

beforeEach(async () => {
  name = `batch-${randomUUID()}`;
  folder = path.join(rig.folder, name);
  await mkdir(path.join(folder, 'in'), { recursive: true });
});

const sourceAt = (file: string) => path.join(folder, 'in', file);
const put = (file: string, text = `# ${file}\n`) => writeFile(sourceAt(file), text);
const uploads = () => rig.stub.count('upload/file');
const submits = () => rig.stub.count('convert/file');

function request(to: string[]) {
  const [out, runs] = [path.join(folder, 'out'), path.join(folder, 'runs')];
  return { name, sources: [path.join(folder, 'in')], to, out, runs, policies: quickPolicies };
}

function inline(formats: string[], file = 'a.md') {
  const items = formats.map((output): InlineItem => ({
    source: sourceAt(file),
    output,
    destination: path.join(folder, 'out', `a.${output}`),
  }));
  return { name, items, policies: quickPolicies };
}

const resultsOf = async (batch: BatchHandle): Promise<BatchItemResult[]> =>
  (await collect(batch.results())).sort((one, other) => one.item - other.item);

/** Answers the first submit for the format with the error. */
function refuseFirst(format: string, code: KnownErrorCode) {
  let refused = 0;
  rig.stub.on('convert/file', (seen, response) => {
    const { output } = seen.data['parameters'] as { output: string };
    if (output === format && refused++ === 0) answerError(response, errorCodes[code].httpStatus, code);
    else rig.stub.answerAsAlways(seen, response);
  });
}

it('uploads each file once for all its formats, and nothing when it is done', async () => {
  for (const file of ['a.md', 'b.md']) await put(file);
  const batch = await rig.client.startBatch(request(['pdf', 'docx']));
  expect(await batch.result()).toMatchObject({ status: 'completed', items: 4, succeeded: 4 });
  expect([uploads(), submits()]).toEqual([2, 4]);
  const results = await resultsOf(batch);
  expect(results.map(({ output }) => output?.name)).toEqual(['a.pdf', 'a.docx', 'b.pdf', 'b.docx']);
  expect(new Set(results.slice(0, 2).map(({ source }) => source?.sha256)).size).toBe(1);

  await rm(path.join(folder, 'out', 'b.docx'));
  const again = await rig.client.startBatch(request(['pdf', 'docx']));
  expect(await again.result()).toMatchObject({ succeeded: 0, skipped: 4, missing: 1 });
  expect([uploads(), submits()]).toEqual([2, 4]);
});

it('groups rows that are not adjacent', async () => {
  for (const file of ['a.md', 'b.md']) await put(file);
  const manifest = path.join(folder, 'rows.csv');
  await writeFile(manifest, ['source,output', 'in/a.md,pdf', 'in/b.md,pdf', 'in/a.md,html', 'in/b.md,html'].join('\n'));
  const { out, runs, policies } = request([]);
  const rows = { name, manifest, out, runs, policies };
  await expect(rig.client.startBatch({ ...rows, to: ['pdf', 'docx'] })).rejects.toThrow(InvalidRequestError);
  const batch = await rig.client.startBatch(rows);
  expect(await batch.result()).toMatchObject({ status: 'completed', succeeded: 4 });
  expect([uploads(), submits()]).toEqual([2, 4]);
});

it('starts the other formats while the first is still converting', async () => {
  await put('a.md');
  const held = rig.stub.hold();
  const batch = await rig.client.startBatch(inline(['pdf', 'docx', 'html']));
  await until('all formats convert', () => submits() === 3);
  expect(uploads()).toBe(1);
  held.letGo();
  expect(await batch.result()).toMatchObject({ succeeded: 3 });
});

it('starts no row that waits for an upload while the batch is paused', async () => {
  await put('a.md');
  const sent: (() => void)[] = [];
  rig.stub.onArrival('upload/file', () => new Promise((resolve) => void sent.push(() => resolve())));
  const batch = await rig.client.startBatch(inline(['pdf', 'docx']));
  await until('the file is uploaded', () => sent.length === 1);
  await batch.pause();
  sent[0]?.();
  await until('the first row has ended', async () => (await batch.state()).succeeded === 1);
  expect(submits()).toBe(1);
  await batch.resume();
  expect(await batch.result()).toMatchObject({ succeeded: 2 });
  expect(uploads()).toBe(1);
});

it('cancels the rows that wait for an upload, and claims nothing about their charge', async () => {
  await put('a.md');
  const sent: (() => void)[] = [];
  rig.stub.onArrival('upload/file', () => new Promise((resolve) => void sent.push(() => resolve())));
  const batch = await rig.client.startBatch(inline(['pdf', 'docx']));
  await until('the file is uploaded', () => sent.length === 1);
  await batch.cancel();
  await until('the job is told', async () => {
    return (await rig.events(name)).some((event) => event.externalWorkflowExecutionCancelRequestedEventAttributes);
  });
  sent[0]?.();
  const { status, itemResults } = await batch.result();
  expect(status).toBe('cancelled');
  expect(itemResults).toMatchObject([{ status: 'cancelled', charge: 'no' }, { status: 'cancelled' }]);
  expect(itemResults?.[1]).not.toHaveProperty('charge');
  expect(submits()).toBe(0);
});

it('loses no row when the first of them fails', async () => {
  await put('a.md');
  refuseFirst('pdf', 'INVALID_OUTPUT_FORMAT');
  const batch = await rig.client.startBatch(inline(['pdf', 'docx', 'html']));
  expect(await batch.result()).toMatchObject({ status: 'completed', succeeded: 2, failed: 1 });
  expect([uploads(), submits()]).toEqual([1, 3]);
});

it('uploads in the next row if the upload of the first row fails', async () => {
  await put('a.md');
  rig.stub.first('upload/file', (response) => answerError(response, errorCodes.EMPTY_FILE.httpStatus, 'EMPTY_FILE'));
  const batch = await rig.client.startBatch(inline(['pdf', 'docx', 'html']));
  expect(await batch.result()).toMatchObject({ status: 'completed', succeeded: 2, failed: 1 });
  expect([uploads(), submits()]).toEqual([2, 2]);
});

it('shares an upload between rows that an earlier run of the batch failed to convert', async () => {
  await put('a.md');
  rig.stub.fail('convert/file', 200, 'FAILED_CONVERT');
  const first = await rig.client.startBatch(inline(['pdf', 'docx']));
  expect(await first.result()).toMatchObject({ failed: 2 });
  rig.stub.asAlways('convert/file');
  const again = await rig.client.startBatch(inline(['pdf', 'docx']));
  expect(await again.result()).toMatchObject({ succeeded: 2 });
  expect([uploads(), submits()]).toEqual([2, 4]);
});

it.each(['still converts', 'is fetched'])(
  'lets no row wait for an upload if the job of an earlier run %s',
  async (end) => {
    await put('a.md');
    const held = rig.stub.hold();
    const first = await rig.client.startBatch(inline(['pdf']));
    await until('it converts', () => submits() === 1);
    if (end === 'is fetched') {
      await first.cancel();
      await first.result();
    } else await rig.temporal.workflow.getHandle(name).terminate();
    const again = await rig.client.startBatch(inline(['pdf', 'docx']));
    await until('the other row converts', () => submits() === 2);
    held.letGo();
    expect(await again.result()).toMatchObject({ succeeded: 2 });
    expect([uploads(), submits()]).toEqual([2, 2]);
  },
);

it('uploads a file again that has expired at the service', async () => {
  await put('a.md');
  refuseFirst('docx', 'FILE_NOT_EXISTS');
  const batch = await rig.client.startBatch(inline(['pdf', 'docx', 'html']));
  expect(await batch.result()).toMatchObject({ status: 'completed', succeeded: 3 });
  expect([uploads(), submits()]).toEqual([2, 4]);
});

it('converts the file as it is now, not as another row has uploaded it', async () => {
  await put('a.md', 'first');
  const held = rig.stub.hold();
  const batch = await rig.client.startBatch({ ...inline(['pdf', 'docx']), window: 1 });
  await until('the first row converts', () => submits() === 1);
  await put('a.md', 'later');
  await utimes(sourceAt('a.md'), new Date(), new Date(Date.now() + 5_000));
  held.letGo();
  const { itemResults = [] } = await batch.result();
  expect(itemResults.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  expect(new Set(itemResults.map(({ source }) => source?.sha256)).size).toBe(2);
  expect(uploads()).toBe(2);
});

it('still knows the uploads after it has continued as new', async () => {
  await put('a.md');
  const formats = ['pdf', 'docx', 'html'];
  const batch = await rig.client.startBatch({ ...inline(formats), window: 1, historyLimit: 1 });
  expect(await batch.result()).toMatchObject({ status: 'completed', succeeded: formats.length });
  expect([uploads(), submits()]).toEqual([1, formats.length]);
});
