import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { BatchHandle } from '../src/client/batch-handle';
import { FileConversionClient } from '../src/client/file-conversion-client';
import { hasStatus } from '../src/history/grpc';
import { runsOf, writeManifest } from './support/batches';
import type { StartedChild } from './support/child-process';
import { round } from './support/figures';
import { measureWithTemporal, type TemporalSetting } from './support/measurement';
import { startInstantWorker } from './support/worker';
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

async function main({ folder, temporal, temporalAddress, owns }: TemporalSetting) {
  const worker = owns(await startInstantWorker(temporalAddress, taskQueue));
  const client = new FileConversionClient({ client: temporal, app: 'bench', taskQueue });
  const setting = { folder, client, worker };
  await run(setting, { name: 'warm', batches: 1, count: 200 });

  const ways = sideBySide === 1 ? [1] : [1, sideBySide];
  const seconds = new Map(ways.map((batches) => [batches, 0]));
  for (let turn = 1; turn <= Number(options.rounds); turn += 1) {
    for (const batches of turn % 2 === 1 ? ways : [...ways].reverse()) {
      const figures = await run(setting, { name: `${turn}-of-${batches}`, batches, count: items });
      seconds.set(batches, (seconds.get(batches) ?? 0) + figures.seconds);
      console.log(`${String(batches).padStart(2)} side by side: ${JSON.stringify({ ...figures, window })}`);
    }
  }
  const [one = 0, several = one] = ways.map((batches) => seconds.get(batches));
  const jobsPerSecond = round((items * Number(options.rounds)) / one);
  const ratio = round(several / one);
  return { ratio, jobsPerSecond, items, window, sideBySide, ...(await figuresOfRuns(temporal, '1-of-1-1')) };
}

interface Setting {
  readonly folder: string;
  readonly client: FileConversionClient;
  readonly worker: StartedChild;
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
  return { seconds: round(seconds), jobsPerSecond: round(succeeded / seconds), tenths };
}

/** Jobs a second and resident memory of the worker, by tenths of the items. */
async function watch(handles: readonly BatchHandle[], worker: StartedChild, count: number): Promise<string[]> {
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
async function figuresOfRuns(temporal: TemporalSetting['temporal'], workflowId: string) {
  let [runs, maxEventsOfARun, maxHistoryKiBOfARun, maxCarriedBytes] = [0, 0, 0, 0];
  for await (const { events, bytes } of runsOf(temporal, workflowId)) {
    const carried = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.input?.payloads?.[1];
    runs += 1;
    maxEventsOfARun = Math.max(maxEventsOfARun, events.length);
    maxHistoryKiBOfARun = Math.max(maxHistoryKiBOfARun, Math.round(bytes / 1024));
    maxCarriedBytes = Math.max(maxCarriedBytes, carried?.data?.length ?? 0);
  }
  return { runs, maxEventsOfARun, maxHistoryKiBOfARun, maxCarriedBytes };
}

void measureWithTemporal(main, { onDisk: options['on-disk'] });
