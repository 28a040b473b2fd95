import { randomUUID } from 'node:crypto';
import { readItems } from '../../src/batch/run-folders';
import { writeBatchReport } from '../../src/batch/report/write-report';
import { planBatch, type PlanBatchOptions } from '../../src/batch/plan/plan-batch';
import type { PlannedBatch } from '../../src/batch/plan/planned-batch';
import type { BatchHandle } from '../../src/client/batch-handle';
import { readBatchWaiting } from '../../src/client/operations/inspect-job';
import { SweepSchedules } from '../../src/client/sweep-schedules';
import { StorageError } from '../../src/index';
import type { ConversionBatchResult } from '../../src/batch/model/state';
import { quickPolicies, rigOfAllTests } from '../support/conversion-worker';
import { MemoryFiles } from '../support/memory-files';
import { until } from '../support/until';
import { startRun } from '../support/batches';

/** Batches with all files in a store other than the disk, so that no code can bypass the store. */

const files = new MemoryFiles();
const rig = rigOfAllTests({ stores: { memory: files } });
let name: string;
let folder: string;

beforeEach(() => {
  files.files.clear();
  rig.stub.conversions.clear();
  name = `batch-${randomUUID()}`;
  folder = `memory:///${name}/`;
});

function put(path: string, text = `# ${path}\n`): void {
  files.files.set(folder + path.split('/').map(encodeURIComponent).join('/'), Buffer.from(text));
}

const bucketGone = (uri: string) =>
  new StorageError({ code: 'STORAGE_FAILED', message: `Cannot use ${uri}: the bucket is gone.`, uri, retryable: true });

const below = (part: string) =>
  [...files.files.keys()].filter((uri) => uri.startsWith(folder + part)).map((uri) => uri.slice(folder.length));

const plan = (options: Partial<PlanBatchOptions> = {}): Promise<PlannedBatch> =>
  planBatch({
    files,
    what: { sources: [`${folder}in/`], recursive: true, to: 'pdf' },
    cwd: 'file:///nowhere/',
    out: `${folder}out/`,
    folder: `${folder}runs/`,
    ...options,
  });

async function start({ run: planned, rows, problems, totals }: PlannedBatch): Promise<BatchHandle> {
  if (!planned) throw new Error(JSON.stringify(problems));
  return startRun(rig.client, { name, folder: planned.folder, items: rows, policies: quickPolicies, totals });
}

async function run(planned: PlannedBatch): Promise<ConversionBatchResult> {
  return (await start(planned)).result();
}

it('keeps manifest, results and report in the store, and converts only what has changed when planned again', async () => {
  for (const source of ['a.md', 'b c.md', 'deep/d#1.md', 'deep/er/100%.md', '.hidden.md']) put(`in/${source}`);
  const result = await run(await plan());
  expect(result).toMatchObject({ status: 'completed', succeeded: 5, results: `${folder}runs/run-0001/results.jsonl` });
  expect(result.report).toBe(`${folder}runs/run-0001/report.html`);
  const results = ['out/.hidden.pdf', 'out/a.pdf', 'out/b%20c.pdf', 'out/deep/d%231.pdf', 'out/deep/er/100%25.pdf'];
  expect(below('out/').sort()).toEqual(results);
  const again = await plan();
  expect(again).toMatchObject({ done: 5, todo: 0, leftOut: { ownResults: 0 } });
  expect(again.run).toBeUndefined();
  put('in/a.md', 'changed');
  put('in/deep/d#1.md', 'changed');
  put('in/b c.md');
  const changed = await plan();
  expect(changed).toMatchObject({ done: 3, todo: 2, replaced: 2, run: { number: 2 } });
  expect(await run(changed)).toMatchObject({ succeeded: 2, skipped: 3 });
  expect(rig.stub.conversions.size).toBe(7);
  const report = await writeBatchReport(files, { batch: name, folder: `${folder}runs/run-0002/`, state: result });
  expect(report).toMatchObject({ counts: { items: 5 }, files: { csv: `${folder}runs/run-0002/report.csv` } });
});

it('resolves patterns and manifests to files of the store, and names missing files by their URI', async () => {
  for (const source of ['a.md', 'deep/b.md', 'deep/c.txt']) put(`in/${source}`);
  put('list.csv', `source,output,destination\nin/a.md,pdf,\n${folder}in/deep/b.md,html,x/b.html\nin/gone.md,pdf,\n`);
  const sourcesOf = async ({ run: planned }: PlannedBatch) => {
    const sources: string[] = [];
    if (planned) for await (const { source } of readItems(files, planned)) sources.push(source.slice(folder.length));
    return sources;
  };
  const pattern = { sources: [`${folder}in/**/*.md`], to: 'pdf' };
  expect(await sourcesOf(await plan({ what: pattern }))).toEqual(['in/a.md', 'in/deep/b.md']);
  expect(await sourcesOf(await plan({ what: { sources: [`${folder}in`], to: 'pdf' } }))).toEqual(['in/a.md']);
  const manifest = await plan({ what: { manifest: `${folder}list.csv`, name: 'list.csv', folder } });
  expect(manifest.problems.listed).toEqual([]);
  expect(manifest.warnings.listed.map(({ message }) => message)).toEqual([
    'list.csv line 4, column source: in/gone.md does not exist. Its item will fail.',
  ]);
  const destinations: string[] = [];
  if (manifest.run) for await (const row of readItems(files, manifest.run)) destinations.push(row.destination);
  expect(destinations).toEqual([`${folder}out/in/a.pdf`, `${folder}out/x/b.html`, `${folder}out/in/gone.pdf`]);
  const missing = await plan({ what: { sources: [`${folder}out/*.md`, `${folder}x.md`], to: 'pdf' } });
  expect(missing.problems.listed.map(({ message }) => message)).toEqual([
    `${folder}out/*.md matches no file. Check the pattern, the folder, and what --exclude leaves out.`,
    `${folder}x.md does not exist.`,
  ]);
});

it('treats names that differ only in case as two files, and allows a file and a folder of the same name', async () => {
  for (const source of ['a.md', 'A.md', 'a.pdf/b.md']) put(`in/${source}`);
  expect(await plan()).toMatchObject({ rows: 3, problems: { count: 0 } });
});

it("lets one of two concurrent planners create the run, and tells the other why it can't", async () => {
  put('in/a.md');
  const walk = files.walk.bind(files);
  let planners = 0;
  // Both have read the ledger before one of them writes.
  const walks = jest.spyOn(files, 'walk').mockImplementation(async function* (uri, options) {
    if (uri.endsWith('/in/')) {
      planners += 1;
      await until('the other one looks for files too', () => planners === 2);
    }
    yield* walk(uri, options);
  });
  const [one, other] = await Promise.allSettled([plan(), plan()]);
  walks.mockRestore();
  expect([one.status, other.status].sort()).toEqual(['fulfilled', 'rejected']);
  expect([one, other].find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { code: 'DESTINATION_EXISTS' },
  });
});

it('retries a store that is unavailable during planning, and ends the batch at once on a permanent refusal', async () => {
  put('in/a.md');
  const from = (retryable: boolean) =>
    jest.spyOn(files, 'walk').mockImplementationOnce((uri) => {
      throw new StorageError({ code: 'SOURCE_NOT_FOUND', message: `Cannot read ${uri}: no bucket.`, uri, retryable });
    });
  const request = { sources: [`${folder}in/`], to: 'pdf', out: `${folder}out/`, policies: quickPolicies };
  from(true);
  const patient = await rig.client.startBatch({ ...request, name });
  expect(await patient.result()).toMatchObject({ status: 'completed', succeeded: 1 });
  from(false);
  const refused = await rig.client.startBatch({ ...request, name: `${name}-2` });
  const error: unknown = await refused.result().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'SOURCE_NOT_FOUND', message: expect.stringContaining('no bucket') as unknown });
});

it("a batch that can't write its results says what it waits for, and continues when it can", async () => {
  put('in/a.md');
  const planned = await plan();
  const write = files.writeDestination.bind(files);
  const refused = jest
    .spyOn(files, 'writeDestination')
    .mockImplementation((options) =>
      options.uri.startsWith(`${folder}runs/`) ? Promise.reject(bucketGone(options.uri)) : write(options),
    );
  const batch = await start(planned);
  const waits = async () => (await readBatchWaiting(rig.temporal, name)).waiting;
  await until(
    'it says what it waits for',
    async () => (await waits())?.waitsFor.endsWith('its results and report)') === true,
  );
  expect(await waits()).toMatchObject({
    waitsFor: 'the next attempt (writing its results and report)',
    because: expect.stringContaining('the bucket is gone') as unknown,
  });
  refused.mockRestore();
  expect(await batch.result()).toMatchObject({ status: 'completed', succeeded: 1 });
});

it('a schedule converts what is new or changed below a folder of the store', async () => {
  put('in/a.md');
  const schedules = new SweepSchedules({ client: rig.temporal, taskQueue: rig.taskQueue, app: 'stub' });
  const places = { from: `${folder}in/`, out: `${folder}out/`, batchFolder: `${folder}runs/` };
  const times = { everyMs: 365 * 24 * 3600_000 };
  await schedules.create({ name, times, to: 'pdf', ...places, settledForMs: 1, policies: quickPolicies });
  const sweep = async (before: number, meanwhile?: () => Promise<void>): Promise<ConversionBatchResult> => {
    await schedules.trigger(name);
    const begun = async () => (await schedules.describe(name)).info.recentActions.map(({ action }) => action.workflow);
    await until('the sweep has begun', async () => (await begun()).length > before);
    await meanwhile?.();
    return (await rig.temporal.workflow.getHandle((await begun()).at(-1)?.workflowId ?? '').result()) as never;
  };
  try {
    expect(await sweep(0)).toMatchObject({ succeeded: 1 });
    put('in/b.md');
    const walk = jest.spyOn(files, 'walk').mockImplementation((uri) => {
      throw bucketGone(uri);
    });
    const told = async () => {
      await until('it says why it waits', async () => (await schedules.lastSweep(name)).retrying !== undefined);
      const retrying = { code: 'STORAGE_FAILED', message: expect.stringContaining('the bucket is gone') as string };
      expect(await schedules.lastSweep(name)).toEqual({ retrying });
      const listed = async () => (await schedules.list()).find((each) => each.name === name);
      await until('the list says it, too', async () => (await listed())?.retrying !== undefined);
      walk.mockRestore();
    };
    expect(await sweep(1, told)).toMatchObject({ succeeded: 1, skipped: 1 });
    expect(await schedules.lastSweep(name)).toMatchObject({ lastResult: { status: 'completed' } });
  } finally {
    await schedules.delete(name);
  }
});
