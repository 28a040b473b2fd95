import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import type { BatchHandle } from '../src/client/batch-handle';
import { FileConversionClient } from '../src/client/file-conversion-client';
import { hasStatus } from '../src/client/grpc';
import { type InstantWorker, startInstantWorker, writeManifest } from './support/instant-batch';
import { startBenchServer } from './support/temporal-server';
import { startRun } from '../test/support/batches';

/**
 * What the workflow of a batch costs by itself: its jobs are done as soon as they start. One batch against several side by side that have as
 * many items and as large a window together, in turns, so that it shows whether one workflow holds its items up.
 */
const { values: options } = parseArgs({
  options: {
    items: { type: 'string', default: '4000' },
    window: { type: 'string', default: '50' },
    /** Side by side; 1 measures one batch alone. */
    batches: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '2' },
    /** Temporal keeps its state in a file: for more items than memory has room for. */
    'on-disk': { type: 'boolean', default: false },
  },
});
const items = Number(options.items);
const window = Number(options.window);
const sideBySide = Number(options.batches);
const taskQueue = 'batch-workflow';

async function main(): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'fileconv-bench-'));
  const server = await startBenchServer(options['on-disk'] ? { dbFilename: path.join(folder, 'temporal.db') } : {});
  const worker = await startInstantWorker(server.address, taskQueue);
  const connection = await Connection.connect({ address: server.address });
  const temporal = new Client({ connection });
  const client = new FileConversionClient({ client: temporal, app: 'bench', taskQueue });
  const setting = { folder, client, worker };
  await run(setting, { name: 'warm', batches: 1, count: 200 });

  const ways = sideBySide === 1 ? [1] : [1, sideBySide];
  const seconds = new Map(ways.map((batches) => [batches, 0]));
  for (let round = 1; round <= Number(options.rounds); round += 1) {
    for (const batches of round % 2 === 1 ? ways : [...ways].reverse()) {
      const figures = await run(setting, { name: `${round}-of-${batches}`, batches, count: items });
      seconds.set(batches, (seconds.get(batches) ?? 0) + figures.seconds);
      console.log(`${String(batches).padStart(2)} side by side: ${JSON.stringify({ ...figures, window })}`);
    }
  }
  const [one = 0, several = one] = ways.map((batches) => seconds.get(batches));
  const runs = await runsOf(temporal, '1-of-1-1');

  await connection.close();
  worker.kill();
  await server.stop();
  await rm(folder, { recursive: true });
  const jobsPerSecond = round2((items * Number(options.rounds)) / one);
  console.log(JSON.stringify({ ratio: round2(several / one), jobsPerSecond, items, window, sideBySide, ...runs }));
}

interface Setting {
  readonly folder: string;
  readonly client: FileConversionClient;
  readonly worker: InstantWorker;
}

async function run(
  { folder, client, worker }: Setting,
  { name, batches, count }: { name: string; batches: number; count: number },
) {
  const share = Math.ceil(count / batches);
  const startedAt = performance.now();
  const handles = await Promise.all(
    Array.from({ length: batches }, async (_, index) => {
      const batch = `${name}-${index + 1}`;
      const runFolder = path.join(folder, batch, 'run-0001');
      await writeManifest(runFolder, share);
      return startRun(client, { name: batch, folder: runFolder, items: share, window: Math.ceil(window / batches) });
    }),
  );
  const over = Promise.all(handles.map((handle) => handle.result()));
  const [tenths, results] = await Promise.all([watch(handles, worker, share * batches), over]);
  const seconds = (performance.now() - startedAt) / 1_000;
  const succeeded = results.reduce((sum, result) => sum + result.succeeded, 0);
  if (succeeded !== share * batches) throw new Error(`${succeeded} of ${share * batches} succeeded`);
  return { seconds: round2(seconds), jobsPerSecond: round2(succeeded / seconds), tenths };
}

/** Jobs a second and resident memory of the worker, by tenths of the items. */
async function watch(handles: readonly BatchHandle[], worker: InstantWorker, count: number): Promise<string[]> {
  const tenths: string[] = [];
  let [ended, since] = [0, performance.now()];
  while (tenths.length < 9) {
    await sleep(500);
    // A machine with much else to do leaves queries unanswered.
    const states = await Promise.all(handles.map((handle) => handle.state())).catch((error: unknown) => {
      if (hasStatus(error, 'DEADLINE_EXCEEDED')) return [];
      throw error;
    });
    const now = states.reduce((sum, { succeeded }) => sum + succeeded, 0);
    if (now < ((tenths.length + 1) * count) / 10) continue;
    const speed = (1_000 * (now - ended)) / (performance.now() - since);
    [ended, since] = [now, performance.now()];
    const { rssBytes } = await worker.usage();
    tenths.push(`${speed.toFixed(0)}/s ${(rssBytes / 1024 ** 2).toFixed(0)} MiB`);
    console.log(`${now} of ${count}: ${tenths.at(-1)}`);
    // Of many items at once: one line says it.
    if (now === count) break;
  }
  return tenths;
}

/** Of the runs by which a batch continues as new. */
async function runsOf(temporal: Client, workflowId: string) {
  const newest = await temporal.workflow.getHandle(workflowId).describe();
  let runId = newest.raw.workflowExecutionInfo?.firstRunId ?? undefined;
  let [runs, maxEventsOfARun, maxHistoryKiBOfARun, maxCarriedBytes] = [0, 0, 0, 0];
  while (runId !== undefined) {
    const handle = temporal.workflow.getHandle(workflowId, runId);
    const { historyLength, historySize = 0 } = await handle.describe();
    const last = (await handle.fetchHistory()).events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes;
    runs += 1;
    maxEventsOfARun = Math.max(maxEventsOfARun, historyLength);
    maxHistoryKiBOfARun = Math.max(maxHistoryKiBOfARun, Math.round(historySize / 1024));
    maxCarriedBytes = Math.max(maxCarriedBytes, last?.input?.payloads?.[1]?.data?.length ?? 0);
    runId = last?.newExecutionRunId ?? undefined;
  }
  return { runs, maxEventsOfARun, maxHistoryKiBOfARun, maxCarriedBytes };
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}

void main();
