import { randomUUID } from 'node:crypto';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Client } from '@temporalio/client';
import { countWithoutJob } from '../../src/batch/plan/planned-batch';
import { runFiles } from '../../src/batch/run-files';
import { toUri } from '../../src/client/job-request';
import { BatchHandle } from '../../src/client/batch-handle';
import type { BatchSettings } from '../../src/client/batch-request';
import type { BatchStartOptions } from '../../src/client/start-options';
import type { FileConversionClient } from '../../src/client/file-conversion-client';
import type { BatchItem } from '../../src/batch/model/types';
import { noTotals, type BatchCounts, type BatchItemResult, type BatchTotals } from '../../src/batch/model/state';
import { jobIdOf } from '../../src/job/job-id';
import { quickPolicies } from './conversion-worker';

/** The folder of one run of a batch, as a planner would have written it. */
export interface Run {
  name: string;
  folder: string;
  items: BatchItem[];
  request: RunRequest;
  results(): Promise<BatchItemResult[]>;
  output(item: number): string;
  /** The id of an item's job. */
  jobId(item: number): string;
}

export interface RunRequest extends BatchSettings {
  folder: string;
  items: number;
  /** Totals of the plan. Default: counted in the manifest. */
  totals?: BatchTotals;
}

/** Starts a batch after its plan, with an existing manifest. `carried`: state from an earlier workflow run. */
export async function startRun(
  client: FileConversionClient,
  { folder, items: rows, totals, ...request }: RunRequest,
  options: BatchStartOptions = {},
  carried: object = {},
): Promise<BatchHandle> {
  const start = await client.batchStart({ ...request, sources: ['planned'], to: 'pdf' }, options);
  const run = { folder: `${toUri(folder).replace(/\/$/, '')}/`, rows };
  const workflow = await client['client'].workflow.start('conversionBatch', {
    ...start,
    args: [start.args[0], { run, totals: totals ?? (await passedOverIn(folder)), ...carried }],
  });
  return new BatchHandle(workflow, client['files']);
}

async function passedOverIn(folder: string): Promise<BatchTotals> {
  const counts = noTotals();
  const manifest = await readFile(path.join(folder, runFiles.manifest), 'utf8').catch(() => '');
  for (const line of manifest.split('\n').filter(Boolean)) countWithoutJob(JSON.parse(line) as BatchItem, counts);
  return counts;
}

/** Writes a manifest with this many items, each with its own source `<item>.md` unless `change` says otherwise. */
export async function planRun(
  root: string,
  count: number,
  options: { name?: string; run?: string; change?: (item: BatchItem) => BatchItem; request?: Partial<RunRequest> } = {},
): Promise<Run> {
  const name = options.name ?? `batch-${randomUUID()}`;
  const folder = path.join(root, name, options.run ?? 'run-0001');
  const [sources, outputs] = [path.join(root, 'sources'), path.join(root, name, 'out')];
  await Promise.all([folder, sources, outputs].map((each) => mkdir(each, { recursive: true })));
  const items: BatchItem[] = [];
  for (let item = 1; item <= count; item += 1) {
    const source = path.join(sources, `${item}.md`);
    await writeFile(source, `# Report ${item}\n`, { flag: 'wx' }).catch(() => undefined);
    const row: BatchItem = {
      item,
      source: pathToFileURL(source).href,
      output: 'pdf',
      destination: pathToFileURL(path.join(outputs, `${item}.pdf`)).href,
    };
    items.push(options.change?.(row) ?? row);
  }
  await writeFile(path.join(folder, runFiles.manifest), toLines(items));
  return {
    name,
    folder,
    items,
    request: { name, folder, items: count, policies: quickPolicies, ...options.request },
    results: async () => fromLines(await readFile(path.join(folder, runFiles.results), 'utf8')),
    output: (item) => path.join(outputs, `${item}.pdf`),
    jobId: (item) => jobIdOfRow(items[item - 1]),
  };
}

export function jobIdOfRow(row: Pick<BatchItem, 'source' | 'destination'> | undefined): string {
  if (!row) throw new Error('There is no such row.');
  return jobIdOf(row.destination);
}

/** Checks that there is one result per row, in order, and that the counts add up. */
function expectAddsUp(counts: BatchCounts, results: readonly BatchItemResult[], run: Run): void {
  expect(results.map(({ item }) => item)).toEqual(run.items.map(({ item }) => item));
  const of = (status: string) => results.filter((result) => result.status === status).length;
  expect({ ...counts, inFlight: 0, waiting: 0 }).toMatchObject({
    items: run.items.length,
    succeeded: of('succeeded'),
    failed: of('failed'),
    skipped: of('skipped'),
    cancelled: of('cancelled'),
  });
  expect(counts).toMatchObject({ inFlight: 0, waiting: 0 });
}

/** Must always equal the number of items. */
export const sumOf = ({ succeeded, failed, skipped, cancelled, inFlight, waiting }: BatchCounts): number =>
  succeeded + failed + skipped + cancelled + inFlight + waiting;

/** Starts the batch, waits for its end, and checks the counts. */
export const runBatch = async (client: FileConversionClient, run: Run) =>
  endBatch(await startRun(client, run.request), run);

export async function endBatch(handle: BatchHandle, run: Run) {
  const result = await handle.result();
  const results = await run.results();
  expectAddsUp(result, results, run);
  return { result, results };
}

export const partsOf = async (run: Run): Promise<string[]> =>
  (await readdir(path.join(run.folder, runFiles.parts))).sort();

/** Runs of the batch's workflow, oldest first, with their number of events. */
export async function runsOf(temporal: Client, name: string): Promise<{ runId: string; events: number }[]> {
  const runs: { runId: string; events: number }[] = [];
  let runId = (await temporal.workflow.getHandle(name).describe()).raw.workflowExecutionInfo?.firstRunId ?? undefined;
  while (runId !== undefined) {
    const { events } = await temporal.workflow.getHandle(name, runId).fetchHistory();
    runs.push({ runId, events: events?.length ?? 0 });
    runId = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
  return runs;
}

function toLines(rows: readonly unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

function fromLines(text: string): BatchItemResult[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as BatchItemResult);
}
