import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { finishBatch } from '../../packages/cli/src/batch/finish';
import type { CommandContext } from '../../packages/cli/src/command-context';
import { loadConfig } from '../../packages/cli/src/config/load-config';
import { BatchDesk } from '../support/batch-desk';
import { endBatch, planRun, runBatch, runsOf, startRun, type Run } from '../support/batches';
import { rigOfEachTest } from '../support/conversion-worker';
import { answerCompleted, answerError, cut } from '../support/stub-service';
import { until } from '../support/until';
import type { BatchReport } from '../../src/batch/report/report';
import type { FileStore } from '../../src/storage/file-store';
import { createLocalFiles } from '../../src/storage/local-files';
import type { ConversionBatchResult } from '../../src/batch/model/state';
import type { BatchItem } from '../../src/batch/model/types';

/** The report that the batch itself writes, since the program that started it may be gone. */

/** Delays the commit of a page until it resolves. */
let pageHeld: Promise<void> | undefined;
const local = createLocalFiles();
const files: FileStore = {
  ...local,
  writeDestination(options) {
    const held = options.uri.endsWith('/report.html') ? pageHeld : undefined;
    if (!held) return local.writeDestination(options);
    const aborted = new Promise<void>((resolve) => options.signal?.addEventListener('abort', () => resolve()));
    const questions = [Promise.race([held, aborted])];
    pageHeld = undefined;
    return local.writeDestination({ ...options, mayCommit: () => questions.pop() });
  },
};

const rig = rigOfEachTest({ stores: { file: files } });

const inRun = (run: Run, name: string) => path.join(run.folder, name);
const reportOf = async (folder: string) =>
  JSON.parse(await readFile(path.join(folder, 'report.json'), 'utf8')) as BatchReport;

/** The last step of `batch watch`. */
async function finish(run: Run, result: ConversionBatchResult, again = false) {
  const printed: unknown[] = [];
  const output = { json: true, printJson: (value: unknown) => printed.push(value) };
  const stack = { client: rig.temporal };
  const context = { output, env: {}, homeDir: rig.folder, config: await loadConfig({ cwd: rig.folder, env: {} }) };
  const code = await finishBatch(context as unknown as CommandContext, { stack, name: run.name, result, again });
  return { code, report: printed[0] as BatchReport };
}

it('is complete when the batch has ended, even if nobody has watched it', async () => {
  const run = await planRun(rig.folder, 3, { request: { uiUrl: 'https://ann:secret@ui.example/temporal/?x=1' } });
  await rm(path.join(rig.folder, 'sources', '2.md'));
  const { result } = await runBatch(rig.client, run);
  expect(result).toMatchObject({ report: pathToFileURL(inRun(run, 'report.html')).href });
  expect((await readdir(run.folder)).sort()).toEqual([
    'manifest.jsonl',
    'parts',
    ...['receipt.csv', 'report.csv', 'report.html', 'report.json'],
    'results.jsonl',
  ]);
  const { status, counts, durationMs, failures, links } = await reportOf(run.folder);
  expect({ status, durationMs }).toEqual({ status: 'completed', durationMs: result.durationMs });
  expect(counts).toMatchObject({ items: 3, succeeded: 2, failed: 1 });
  expect(failures.map(({ code }) => code)).toEqual(['SOURCE_NOT_FOUND']);
  expect(links?.batch).toBe(`https://ui.example/temporal/namespaces/default/workflows/${run.name}`);
  expect(JSON.stringify((await rig.temporal.workflow.getHandle(run.name).describe()).raw)).not.toContain('secret');
});

it('is shown, and not written again, by any number of concurrent watchers', async () => {
  const run = await planRun(rig.folder, 2);
  const { result } = await runBatch(rig.client, run);
  const written = await stat(inRun(run, 'report.html'), { bigint: true });
  const shown = await Promise.all([finish(run, result), finish(run, result)]);
  expect((await stat(inRun(run, 'report.html'), { bigint: true })).mtimeNs).toBe(written.mtimeNs);
  const report = await reportOf(run.folder);
  expect(shown).toEqual([
    { code: 0, report },
    { code: 0, report },
  ]);
  await rm(inRun(run, 'report.csv'));
  await finish(run, result);
  expect(await readdir(run.folder)).toContain('report.csv');
});

it("that can't be written does not fail the batch: the result says so, and the next command writes the report", async () => {
  const run = await planRun(rig.folder, 1);
  await mkdir(inRun(run, 'report.html'));
  await writeFile(inRun(run, 'report.html/in-the-way'), '');
  const { result } = await runBatch(rig.client, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: 1 });
  expect(result.report).toBeUndefined();
  expect(result.reportFailure).toContain('report.html');
  expect(await readdir(run.folder)).not.toContain('report.json');
  const { history } = await rig.temporal.workflowService.getWorkflowExecutionHistory({
    namespace: 'default',
    execution: { workflowId: run.name },
  });
  const attempts = history?.events?.map(({ activityTaskStartedEventAttributes: started }) => started?.attempt ?? 0);
  expect(Math.max(...(attempts ?? []))).toBe(4);
  await rm(inRun(run, 'report.html'), { recursive: true });
  expect((await finish(run, result)).code).toBe(0);
  expect(await readdir(run.folder)).toEqual(expect.arrayContaining(['report.csv', 'report.html', 'report.json']));
});

it('lists a possible double charge in every run but counts it in one receipt only', async () => {
  const desk = new BatchDesk(rig);
  await desk.put('1.md');
  rig.stub.on('convert/file', (seen, response, stub) => {
    if (stub.conversions.size > 0) stub.answerAsAlways(seen, response);
    else {
      stub.convert(seen);
      cut(response);
    }
  });
  const marked = async (ran: Awaited<ReturnType<BatchDesk['run']>>) => {
    const { possiblyChargedTwice, receipt } = await reportOf(fileURLToPath(ran.result.folder ?? ''));
    const { count, items } = possiblyChargedTwice;
    return { count, sources: items.map(({ source }) => path.basename(source)), ...receipt.possiblyCharged };
  };
  const first = { conversions: 1, vcreditsAtMost: 1 };
  expect(await marked(await desk.run())).toEqual({ count: 1, sources: ['1.md'], ...first });
  for (const next of ['2.md', '3.md']) {
    await desk.put(next);
    const none = { conversions: 0, vcreditsAtMost: 0 };
    expect(await marked(await desk.run())).toEqual({ count: 1, sources: ['1.md'], ...none });
  }
});

describe('the receipts of all runs add up', () => {
  const receiptOf = async ({ result }: Awaited<ReturnType<BatchDesk['run']>>) =>
    (await reportOf(fileURLToPath(result.folder ?? ''))).receipt;
  const none = { charged: { conversions: 0, vcredits: 0 }, possiblyCharged: { conversions: 0, vcreditsAtMost: 0 } };
  const one = { ...none, charged: { conversions: 1, vcredits: 1 }, notCharged: { files: 0 } };

  it.each([
    ['fetched, in the third run alone', false, { ...none, notCharged: { files: 1 } }],
    ['lost by the service, and converted again', true, one],
  ])('when a paid conversion is %s', async (_, isLost, last) => {
    const desk = new BatchDesk(rig);
    await desk.put('1.md');
    const result = desk.output('1.pdf');
    await mkdir(path.dirname(result), { recursive: true });
    const lost = new Set<string>();
    const isTaken = { now: true };
    rig.stub.on('task/response', async ({ connector: id }, response) => {
      if (isTaken.now) await writeFile(result, 'mine');
      if (lost.has(id)) answerError(response, 404, 'NO_CONNECTOR_DEPENDENT_TASK');
      else answerCompleted(response, id);
    });
    expect(await receiptOf(await desk.run())).toEqual(one);
    await rm(result);
    expect(await receiptOf(await desk.run())).toEqual({ ...none, notCharged: { files: 1 } });
    await rm(result);
    isTaken.now = false;
    if (isLost) for (const id of rig.stub.conversions.keys()) lost.add(id);
    expect(await receiptOf(await desk.run())).toEqual(last);
    expect(rig.stub.count('convert/file')).toBe(isLost ? 2 : 1);
  });

  it('when the job of a row finds that another job has done its work', async () => {
    const desk = new BatchDesk(rig);
    await desk.put('1.md');
    await rm(new URL('..', (await desk.run()).result.folder), { recursive: true });
    expect(await receiptOf(await desk.run())).toEqual({ ...none, notCharged: { files: 1 } });
    expect(rig.stub.count('convert/file')).toBe(1);
  });
});

describe('the page of a running batch', () => {
  const everyMs = 50;
  const withoutFirst = (row: BatchItem) => (row.item === 1 ? { ...row, source: `${row.source}.gone` } : row);
  const page = (more: object = {}) => ({ everyMs, written: 0, at: 0, shown: '', pace: { at: 0, ended: 0 }, ...more });
  const textOf = (run: Run) => readFile(inRun(run, 'report.html'), 'utf8').catch(() => '');
  const shows = (run: Run, what: string) => until(what, async () => (await textOf(run)).includes(what));
  const written = async (run: Run) =>
    (await Promise.all((await runsOf(rig.temporal, run.name)).map(({ runId }) => stepsOf(run, runId)))).flat();
  async function stepsOf(run: Run, runId: string) {
    const { events } = await rig.temporal.workflow.getHandle(run.name, runId).fetchHistory();
    return (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? []);
  }
  const pagesOf = async (run: Run) => (await written(run)).filter((name) => name.endsWith('RunningPage')).length;

  it('shows what is done, has failed and is waiting, and becomes the report at the end', async () => {
    const held = rig.stub.hold();
    const run = await planRun(rig.folder, 5, {
      request: { window: 2 },
      change: (row) => (row.item <= 2 ? { ...row, source: `${row.source}.gone` } : row),
    });
    const handle = await startRun(rig.client, run.request, {}, { page: page() });
    await shows(run, '2 of 5 files done, 2 failed.');
    const text = await textOf(run);
    expect(text).toContain('There is no such file: 2 files');
    expect(text).toMatch(/<dt>In flight<.dt>\s*<dd>2<.dd>/);
    expect(text).toContain('2.md.gone');
    expect(await readdir(run.folder)).toEqual(['manifest.jsonl', 'parts', 'report.html']);
    await handle.pause();
    await shows(run, 'Waiting for someone to resume it');
    const before = await pagesOf(run);
    await handle.setWindow(3);
    await handle.resume();
    await until('a page without it', async () => !(await textOf(run)).includes('It waits'));
    held.letGo();
    expect((await endBatch(handle, run)).result).toMatchObject({ succeeded: 3, failed: 2 });
    expect(await textOf(run)).toContain('2 of 5 files failed.');
    expect(await textOf(run)).not.toMatch(/<script|http-equiv="refresh"/);
    // The change of the window causes no extra page.
    expect(await pagesOf(run)).toBeGreaterThanOrEqual(before + 1);
  });

  it('soon shows that the batch is paused, even if the next page was due much later', async () => {
    const held = rig.stub.hold();
    const run = await planRun(rig.folder, 3, { request: { window: 1 }, change: withoutFirst });
    const now = Date.now();
    const last = page({
      everyMs: 5_000,
      written: 59,
      at: now,
      shown: 'running  0',
      pace: { at: now - 60_000, ended: 0 },
    });
    const handle = await startRun(rig.client, run.request, {}, { page: last });
    await until('a pause before the next page', async () =>
      (await rig.events(run.name)).some((event) => event.timerStartedEventAttributes),
    );
    await handle.pause();
    await shows(run, 'Waiting for someone to resume it');
    await handle.resume();
    held.letGo();
    await endBatch(handle, run);
  });

  it('is written less often if writing it takes long', async () => {
    const held = rig.stub.hold();
    const run = await planRun(rig.folder, 2, { change: withoutFirst });
    pageHeld = sleep(1_000);
    const handle = await startRun(rig.client, run.request, {}, { page: page({ everyMs: 20_000 }) });
    await until('a pause before the next page', async () =>
      (await rig.events(run.name)).some(({ timerStartedEventAttributes: timer }) => {
        return Number(timer?.startToFireTimeout?.seconds ?? 0) > 30;
      }),
    );
    expect(await pagesOf(run)).toBe(1);
    held.letGo();
    await endBatch(handle, run);
  });

  it('uses few timers, although each file that ends makes it due sooner', async () => {
    const run = await planRun(rig.folder, 20, { request: { window: 1 } });
    const now = Date.now();
    const last = page({ everyMs: 1, written: 59, at: now, shown: 'running  0', pace: { at: now - 60_000, ended: 0 } });
    await endBatch(await startRun(rig.client, run.request, {}, { page: last }), run);
    const timers = (await rig.events(run.name)).filter((event) => event.timerStartedEventAttributes);
    expect(timers.length).toBeGreaterThan(0);
    expect(timers.length).toBeLessThan(10);
  });

  it('finally says why the batch has failed, and no longer refreshes itself', async () => {
    const held = rig.stub.hold();
    const run = await planRun(rig.folder, 2, { change: withoutFirst });
    const handle = await startRun(rig.client, run.request, {}, { page: page() });
    await shows(run, '1 of 2 files done, 1 failed.');
    const [part = ''] = await readdir(inRun(run, 'parts'));
    await writeFile(inRun(run, `parts/${part}`), 'damaged\n\n');
    held.letGo();
    await expect(handle.result()).rejects.toThrow();
    const text = await textOf(run);
    expect(text).toMatch(/<h2>The batch has failed<.h2>\s*<p>.*parts/);
    expect(text).toContain('Batch report · failed');
    expect(text).not.toMatch(/<script|http-equiv="refresh"/);
  });

  it('is the final one, even if an earlier page is committed late', async () => {
    const held = rig.stub.hold();
    const run = await planRun(rig.folder, 2, { change: withoutFirst });
    let letGo = (): void => undefined;
    pageHeld = new Promise((resolve) => (letGo = resolve));
    const handle = await startRun(rig.client, run.request, {}, { page: page() });
    await until('a page is held', () => Promise.resolve(pageHeld === undefined));
    held.letGo();
    await endBatch(handle, run);
    letGo();
    await until('nothing is being written', async () =>
      (await readdir(run.folder)).every((name) => !name.endsWith('.part')),
    );
    expect(await textOf(run)).toContain('1 of 2 files failed.');
    expect(await textOf(run)).not.toMatch(/<script|http-equiv="refresh"/);
  });

  it('adds no activity to a batch that ends soon', async () => {
    const run = await planRun(rig.folder, 3);
    await runBatch(rig.client, run);
    const events = await rig.events(run.name);
    expect(await written(run)).toEqual(['readBatchItems', 'endRun'].map((name) => `conversion.${name}`));
    expect(events.filter((event) => event.timerStartedEventAttributes)).toHaveLength(1);
  });

  it('is there after a while, even if no file has ended', async () => {
    const held = rig.stub.hold();
    const run = await planRun(rig.folder, 2);
    const now = Date.now();
    const first = page({ everyMs: 1_000, at: now, pace: { at: now, ended: 0 } });
    const handle = await startRun(rig.client, run.request, {}, { page: first });
    await shows(run, '0 of 2 files done');
    held.letGo();
    await endBatch(handle, run);
  });

  it('is written at most a fixed number of times, however often the batch continues as new', async () => {
    const run = await planRun(rig.folder, 12, { request: { window: 1, historyLimit: 20 } });
    await endBatch(await startRun(rig.client, run.request, {}, { page: page({ everyMs: 1, written: 57 }) }), run);
    expect((await runsOf(rig.temporal, run.name)).length).toBeGreaterThan(2);
    expect(await pagesOf(run)).toBe(3);
  });

  it("that can't be written does no harm, and the next one is written", async () => {
    const held = rig.stub.hold();
    const run = await planRun(rig.folder, 3, { request: { window: 1 }, change: withoutFirst });
    await mkdir(inRun(run, 'report.html'));
    await writeFile(inRun(run, 'report.html/in-the-way'), '');
    const handle = await startRun(rig.client, run.request, {}, { page: page() });
    await until('one has failed', async () =>
      (await rig.events(run.name)).some((event) => event.activityTaskFailedEventAttributes),
    );
    await rm(inRun(run, 'report.html'), { recursive: true });
    await handle.pause();
    await shows(run, '1 of 3 files done');
    await handle.resume();
    held.letGo();
    expect((await endBatch(handle, run)).result).toMatchObject({ status: 'completed', succeeded: 2, failed: 1 });
  });
});
