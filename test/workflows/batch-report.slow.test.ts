import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { finishBatch } from '../../packages/cli/src/batch/finish';
import type { CommandContext } from '../../packages/cli/src/command-context';
import { loadConfig } from '../../packages/cli/src/config/load-config';
import { BatchDesk } from '../support/batch-desk';
import { planRun, runBatch, type Run } from '../support/batches';
import { rigOfEachTest } from '../support/conversion-worker';
import { cut } from '../support/stub-service';
import type { BatchReport } from '../../src/batch/report/report';
import type { ConversionBatchResult } from '../../src/shared/batch';

/** The report that a batch writes itself: whoever has started it may have gone. */

const rig = rigOfEachTest();

const inRun = (run: Run, name: string) => path.join(run.folder, name);
const reportOf = async (folder: string) =>
  JSON.parse(await readFile(path.join(folder, 'report.json'), 'utf8')) as BatchReport;

/** What `batch watch` does at the end. */
async function finish(run: Run, result: ConversionBatchResult, again = false) {
  const printed: unknown[] = [];
  const output = { json: true, printJson: (value: unknown) => printed.push(value) };
  const stack = { client: rig.temporal };
  const context = { output, env: {}, homeDir: rig.folder, config: await loadConfig({ cwd: rig.folder, env: {} }) };
  const code = await finishBatch(context as unknown as CommandContext, { stack, name: run.name, result, again });
  return { code, report: printed[0] as BatchReport };
}

it('is there, whole, when the batch has ended and nobody has watched it', async () => {
  const run = await planRun(rig.folder, 3, { request: { uiUrl: 'https://ann:secret@ui.example/temporal/?x=1' } });
  await rm(path.join(rig.folder, 'sources', '2.md'));
  const { result } = await runBatch(rig.client, run);
  expect(result).toMatchObject({ report: pathToFileURL(inRun(run, 'report.html')).href });
  expect((await readdir(run.folder)).sort()).toEqual([
    'manifest.jsonl',
    'parts',
    ...['report.csv', 'report.html', 'report.json'],
    'results.jsonl',
  ]);
  const { status, counts, durationMs, failures, links } = await reportOf(run.folder);
  expect({ status, durationMs }).toEqual({ status: 'completed', durationMs: result.durationMs });
  expect(counts).toMatchObject({ items: 3, succeeded: 2, failed: 1 });
  expect(failures.map(({ code }) => code)).toEqual(['SOURCE_NOT_FOUND']);
  expect(links?.batch).toBe(`https://ui.example/temporal/namespaces/default/workflows/${run.name}`);
  const { raw } = await rig.temporal.workflow.getHandle(run.name).describe();
  expect(JSON.stringify(raw)).not.toContain('secret');
});

it('is shown, and not written again, by those who watch the batch, however many they are', async () => {
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

it('that can not be written holds no batch up: it ends with a word on it, and the next command writes the report', async () => {
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

it('tells for good which conversions may have been charged twice, however often the batch runs', async () => {
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
    const { count, items } = (await reportOf(fileURLToPath(ran.result.folder ?? ''))).possiblyChargedTwice;
    return { count, sources: items.map(({ source }) => path.basename(source)) };
  };
  expect(await marked(await desk.run())).toEqual({ count: 1, sources: ['1.md'] });
  for (const next of ['2.md', '3.md']) {
    await desk.put(next);
    expect(await marked(await desk.run())).toEqual({ count: 1, sources: ['1.md'] });
  }
});
