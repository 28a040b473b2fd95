import { randomUUID } from 'node:crypto';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { BatchFailedError, BatchRunningError } from '../../src/client/batch-handle';
import { InvalidRequestError } from '../../src/client/job-request';
import { type BatchRequest, FileConversionClient, type BatchHandle, type InlineItem } from '../../src/client/index';
import type { UploadFileInput } from '../../src/job/activities';
import { collect } from '../batch/folder';
import { jobIdOfRow } from '../support/batches';
import { quickPolicies, rigOfAllTests } from '../support/conversion-worker';
import { until } from '../support/until';

const rig = rigOfAllTests();
let name: string;
let folder: string;

beforeEach(async () => {
  rig.stub.conversions.clear();
  name = `batch-${randomUUID()}`;
  folder = path.join(rig.folder, name);
  await mkdir(path.join(folder, 'in'), { recursive: true });
});

async function put(file: string, text = `# ${file}\n`): Promise<string> {
  const written = path.join(folder, 'in', file);
  await writeFile(written, text);
  return written;
}

function request() {
  const [out, runs] = [path.join(folder, 'out'), path.join(folder, 'runs')];
  return { name, sources: [path.join(folder, 'in')], to: 'pdf', out, runs, policies: quickPolicies };
}

function inline(...files: string[]) {
  const items = files.map((file): InlineItem => ({
    source: path.join(folder, 'in', file),
    output: 'pdf',
    destination: path.join(folder, 'out', `${path.parse(file).name}.pdf`),
  }));
  return { name, items, policies: quickPolicies };
}

/** How each item ended, in order. */
async function endsOf(batch: BatchHandle): Promise<string[]> {
  const results = (await collect(batch.results())).sort((one, other) => one.item - other.item);
  return results.map(({ status, code }) => code ?? status);
}

describe('a batch of sources', () => {
  it('returns progress, results and report, and converts only what has changed when started again', async () => {
    for (const file of ['a.md', 'b.md', 'c.md']) await put(file);
    expect(await rig.client.planBatch(request())).toMatchObject({ todo: 3, done: 0 });
    expect(await readdir(folder)).toEqual(['in']);
    const batch = await rig.client.startBatch(request());
    const states = await collect(batch.progress({ everyMs: 20 }));
    expect(states.at(-1)).toMatchObject({ status: 'completed', succeeded: 3 });
    expect(new Set(states.map((state) => JSON.stringify(state))).size).toBe(states.length);
    expect(await endsOf(batch)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    expect(await batch.report()).toMatchObject({ batch: name, counts: { items: 3, succeeded: 3 } });

    await put('b.md', 'changed');
    expect(await rig.client.planBatch(request())).toMatchObject({ todo: 1, done: 2 });
    const again = await rig.client.startBatch(request());
    expect((await collect(again.results())).map(({ status, output }) => [status, output?.name]).sort()).toEqual([
      ['skipped', 'a.pdf'],
      ['skipped', 'c.pdf'],
      ['succeeded', 'b.pdf'],
    ]);
    const third = await rig.client.startBatch(request());
    expect(await third.result()).toMatchObject({ status: 'completed', succeeded: 0, skipped: 3 });
    expect(await third.report()).toMatchObject({ counts: { items: 3, skipped: 3 } });
    expect(rig.stub.conversions.size).toBe(4);
  });

  it.each(['before', 'after'])('stops to wait for results whose signal is aborted %s the wait began', async (when) => {
    await put('a.md');
    const held = rig.stub.hold();
    const batch = await rig.client.startBatch(request());
    const abort = new AbortController();
    const reason = new Error('enough');
    if (when === 'before') abort.abort(reason);
    const next = batch.results({ signal: abort.signal }).next();
    if (when === 'after') await until('it is converting', () => rig.stub.conversions.size > 0);
    abort.abort(reason);
    await expect(next).rejects.toBe(reason);
    held.letGo();
    expect(await batch.result()).toMatchObject({ succeeded: 1 });
  });

  it("fails with the problems of its plan, and can't be started twice at the same time", async () => {
    const refused = await rig.client.startBatch({ ...request(), sources: [path.join(folder, 'nowhere')] });
    const error: unknown = await refused.result().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BatchFailedError);
    expect(error).toMatchObject({
      code: 'SOURCE_NOT_FOUND',
      refusedPlan: { problems: { count: 1, listed: [{ message: expect.stringContaining('nowhere') as unknown }] } },
    });
    await expect(rig.client.startBatch({ ...request(), to: 'p d f' })).rejects.toThrow(InvalidRequestError);
    await put('a.md');
    const elsewhere = new FileConversionClient({ client: rig.temporal, taskQueue: `none-${name}`, app: 'stub' });
    const batch = await elsewhere.startBatch(request());
    await expect(elsewhere.startBatch(request())).rejects.toThrow(BatchRunningError);
    expect((await elsewhere.startBatch(request(), { onRunning: 'attach' })).name).toBe(name);
    await rig.temporal.workflow.getHandle(batch.name).terminate();
  });

  it('is one batch with one run for programs that start it at the same moment and attach', async () => {
    await put('a.md');
    const batches = await Promise.all([1, 2, 3].map(() => rig.client.startBatch(request(), { onRunning: 'attach' })));
    for (const batch of batches) expect(await endsOf(batch)).toEqual(['succeeded']);
    expect((await readdir(path.join(folder, 'runs', name))).filter((each) => each.startsWith('run-'))).toHaveLength(1);
    expect([...rig.stub.conversions.values()]).toHaveLength(1);
  });

  it('pays once when another batch and a job have the same destination', async () => {
    const file = await put('a.md');
    const destination = path.join(folder, 'out', 'a.pdf');
    const [one, other, job] = await Promise.all([
      rig.client.startBatch(request()),
      rig.client.startBatch({ ...request(), name: `${name}-2` }),
      rig.client.start({ source: file, output: 'pdf', destination, policies: quickPolicies }),
    ]);
    const ends = await Promise.all([one.result(), other.result(), job.result()]);
    for (const end of ends.slice(0, 2)) expect(end).toMatchObject({ failed: 0, cancelled: 0 });
    expect([...rig.stub.conversions.values()]).toHaveLength(1);
  });

  it('does not attach to a workflow of another kind with the same name', async () => {
    await put('a.md');
    const workflow = await rig.temporal.workflow.start('other', { workflowId: name, taskQueue: `none-${name}` });
    await expect(rig.client.startBatch(request(), { onRunning: 'attach' })).rejects.toThrow(
      `${name} is that of a running other`,
    );
    expect(await readdir(folder)).toEqual(['in']);
    await workflow.terminate();
  });
});

describe('a batch of inline items', () => {
  it('is not attached to by a program with other items, whose results it would be taken for', async () => {
    await put('a.md');
    await put('b.md');
    const held = rig.stub.hold();
    const attach = (...names: string[]) => rig.client.startBatch(inline(...names), { onRunning: 'attach' });
    const [batch, same] = [await attach('a.md', 'b.md'), await attach('a.md', 'b.md')];
    await expect(attach('b.md', 'a.md')).rejects.toThrow(BatchRunningError);
    held.letGo();
    expect(await same.result()).toEqual(await batch.result());
  });

  it('touches no files except sources and results, returns the results itself, and converts nothing twice when started again', async () => {
    await put('a.md');
    await put('b.md');
    const batch = await rig.client.startBatch(inline('a.md', 'gone.md', 'b.md'));
    const result = await batch.result();
    expect(result).toMatchObject({ status: 'completed', items: 3, succeeded: 2, failed: 1 });
    expect(result.itemResults).toMatchObject([
      { item: 1, status: 'succeeded', output: { name: 'a.pdf' } },
      { item: 2, status: 'failed', code: 'SOURCE_NOT_FOUND' },
      { item: 3, status: 'succeeded', output: { name: 'b.pdf' } },
    ]);
    expect(result).not.toHaveProperty('results');
    expect(await endsOf(batch)).toEqual(['succeeded', 'SOURCE_NOT_FOUND', 'succeeded']);
    await expect(batch.report()).rejects.toThrow('has no report: its items were inline');
    expect((await readdir(folder, { recursive: true })).sort()).toEqual(
      ['in', 'in/a.md', 'in/b.md', 'out', 'out/a.pdf', 'out/b.pdf'].sort(),
    );
    const again = await rig.client.startBatch(inline('a.md', 'gone.md', 'b.md'));
    expect(await again.result()).toMatchObject({ skipped: 2, failed: 1, vcredits: 0 });
    expect(rig.stub.conversions.size).toBe(2);
  });

  it('replaces its own result when the source has changed, but no result that somebody has edited', async () => {
    for (const file of ['a.md', 'b.md']) await put(file);
    const items = inline('a.md', 'b.md');
    expect(await (await rig.client.startBatch(items)).result()).toMatchObject({ succeeded: 2 });
    for (const file of ['a.md', 'b.md']) await put(file, 'the next version');
    const edited = path.join(folder, 'out', 'b.pdf');
    await writeFile(edited, 'by hand');
    const again = await (await rig.client.startBatch(items)).result();
    expect(again).toMatchObject({ succeeded: 1, failed: 1, failures: { DESTINATION_EXISTS: 1 } });
    expect(await readFile(edited, 'utf8')).toBe('by hand');
    // The stamp is passed along, so that no step of the job has to read the result again.
    const place = { source: '', destination: pathToFileURL(path.join(folder, 'out', 'a.pdf')).href };
    const asked = (await rig.events(jobIdOfRow(place))).flatMap((event) => {
      const { activityType, input } = event.activityTaskScheduledEventAttributes ?? {};
      const payloads = activityType?.name === 'conversion.uploadFile' ? input?.payloads : undefined;
      return (payloads ?? []).map(({ data }) => JSON.parse(Buffer.from(data ?? []).toString()) as UploadFileInput);
    });
    expect(asked.map(({ replaces }) => typeof replaces?.stamp)).toEqual(['string']);
  });

  it('recognises its items and their charges in any order when it is started again', async () => {
    for (const file of ['a.md', 'b.md', 'c.md']) await put(file);
    await mkdir(path.join(folder, 'out'));
    // Appears after the conversion has been paid for.
    rig.stub.on('task/response', (seen, response) => {
      const isSecond = rig.stub.conversions.get(seen.connector) === 'b.md';
      void (isSecond ? writeFile(path.join(folder, 'out/b.pdf'), 'in the way') : Promise.resolve()).then(() =>
        rig.stub.answerAsAlways(seen, response),
      );
    });
    const first = await rig.client.startBatch(inline('a.md', 'b.md', 'c.md'));
    expect(await endsOf(first)).toEqual(['succeeded', 'DESTINATION_EXISTS', 'succeeded']);
    await rm(path.join(folder, 'out/b.pdf'));
    rig.stub.asAlways('task/response');
    const second = await rig.client.startBatch(inline('b.md'));
    expect((await second.result()).itemResults).toMatchObject([{ status: 'succeeded', charge: 'yes' }]);
    const third = await rig.client.startBatch(inline('c.md', 'b.md', 'a.md'));
    expect(await endsOf(third)).toEqual(['skipped', 'skipped', 'skipped']);
    expect([...rig.stub.conversions.values()].sort()).toEqual(['a.md', 'b.md', 'c.md']);
  });

  it('returns results from before it continued as new, and reports what never started as cancelled', async () => {
    for (const file of ['a.md', 'b.md', 'c.md']) await put(file);
    const held = rig.stub.hold('b.md');
    const batch = await rig.client.startBatch({ ...inline('a.md', 'b.md', 'c.md'), window: 1, historyLimit: 1 });
    await until('the second converts', () => rig.stub.conversions.size === 2);
    await batch.pause();
    held.letGo();
    await until('nothing is in flight', async () => (await batch.state()).inFlight === 0);
    await batch.cancel();
    const ended = await batch.result();
    expect(await collect(batch.results())).toEqual(ended.itemResults);
    expect(ended.itemResults?.map(({ item }) => item)).toEqual([1, 2, 3]);
    expect(ended.itemResults?.at(-1)).toEqual({ item: 3, status: 'cancelled' });
    expect(ended).toMatchObject({ succeeded: 2, cancelled: 1 });
  });

  it.each<[object | undefined, string]>([
    [undefined, "This batch can't be started. Invalid input"],
    [{ name: 'a' }, 'sources: is missing; name sources, a manifest or items'],
    [{ name: 'a', sources: ['in'] }, 'to: is missing; name the format of the results, such as pdf'],
    [{ name: 'a', manifest: 'm.csv', sources: ['in'] }, 'sources: is not for a manifest, which names its files itself'],
    [{ name: 'a', manifest: 'm.csv', exclude: ['*'] }, 'exclude: is not for a manifest, which names its files itself'],
    [{ name: 'a', items: 'x' }, 'items: Invalid input'],
    [{ name: 'a', sources: ['in'], to: 'pdf', window: 0 }, "This batch can't be started. window: "],
    [{ name: 'a', sources: ['in'], to: 'pdf', policies: null }, "This batch can't be started. policies: "],
  ])('is rejected if fields are missing, wrong or contradictory: %j', async (request, problem) => {
    await expect(rig.client.startBatch(request as BatchRequest)).rejects.toThrow(problem);
    await rm(folder, { recursive: true });
  });

  it('is rejected if two items share a destination, a destination is a folder, or there are too many items', async () => {
    const [first] = inline('a.md').items;
    if (!first) throw new Error('no item');
    const start = (items: InlineItem[]) => rig.client.startBatch({ name, items }).then((batch) => batch.result());
    const repeated = "This batch can't be started. items[1].destination: is that of items[0] too";
    await expect(start([first, { ...first, source: 'b.md' }])).rejects.toThrow(repeated);
    const spelled = (destination: string) => ({ ...first, destination });
    await expect(start([spelled('s3://b/a b.pdf'), spelled('s3://b/a%20b.pdf')])).rejects.toThrow(repeated);
    await expect(start([spelled('/out/a b.pdf'), spelled('file:///out/a%20b.pdf')])).rejects.toThrow(repeated);
    await expect(start([{ ...first, destination: 'out/' }])).rejects.toThrow('must be a file, not a folder');
    await expect(start(Array.from({ length: 501 }, () => first))).rejects.toThrow(
      'items: must be at most 500 when they are inline',
    );
    const long = Array.from({ length: 200 }, (_, index) => ({
      ...first,
      destination: `/${'o'.repeat(2_600)}${index}`,
    }));
    await expect(start(long)).rejects.toThrow(
      /items: take 5\d\d\.\d kB together, and inline at most 512\.0 kB\. Write them to a manifest/,
    );
    await expect(start([first, { ...first, source: '' }])).rejects.toThrow('items.1.source: ');
    await expect(rig.client.startBatch({ name, out: folder, items: [first] })).rejects.toThrow(
      'out: is not for inline items',
    );
    await rm(folder, { recursive: true });
  });
});
