import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Client } from '@temporalio/client';
import { writeRunningPage } from '../src/batch/report/write-report';
import { FileConversionClient } from '../src/client/file-conversion-client';
import type { ConversionBatchResult } from '../src/batch/model/state';
import { createLocalFiles } from '../src/storage/local-files';
import { runsOf, writeManifest } from './support/batches';
import { round } from './support/figures';
import { measureWithTemporal, type TemporalSetting } from './support/measurement';
import { startInstantWorker } from './support/worker';
import { startRun } from '../test/support/batches';

/**
 * What the page of a running batch costs a worker: CPU of a batch that writes it against one that has written all its pages before, at the
 * same time, each on a worker of its own: what else the machine does slows both. They change their workers in each round, since one
 * of two workers costs more, whatever it does. Jobs are done as soon as they start, so that a batch costs as little as it can beside its page.
 */
const { values: options } = parseArgs({
  options: {
    items: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '2' },
  },
});
const items = Number(options.items);
/** As many as a batch writes. */
const noneLeft = { everyMs: 30_000, written: 60, at: 0, shown: '', pace: { at: 0, ended: 0 } };

async function main({ folder, temporal, temporalAddress, owns }: TemporalSetting) {
  const queues = ['one', 'other'] as const;
  const workers = {
    one: owns(await startInstantWorker(temporalAddress, 'one')),
    other: owns(await startInstantWorker(temporalAddress, 'other')),
  };

  const run = async (turn: number, way: 'without' | 'with', count: number) => {
    const taskQueue = queues[(turn + Number(way === 'with')) % 2] ?? 'one';
    const [worker, name] = [workers[taskQueue], `${turn}-${way}`];
    const client = new FileConversionClient({ client: temporal, app: 'bench', taskQueue });
    const runFolder = path.join(folder, name, 'run-0001');
    await writeManifest(runFolder, count);
    const before = (await worker.usage()).cpuSeconds;
    const carried = way === 'without' ? { page: noneLeft } : {};
    const batch = await startRun(client, { name, folder: runFolder, items: count }, {}, carried);
    const result = await batch.result();
    if (result.succeeded !== count) throw new Error(`${result.succeeded} of ${count} succeeded`);
    const cpuSeconds = (await worker.usage()).cpuSeconds - before;
    console.log(`${way.padEnd(7)} ${cpuSeconds.toFixed(1)} s of CPU in ${(result.durationMs / 1_000).toFixed(0)} s`);
    return { name, result, cpuSeconds };
  };
  const pair = async (turn: number, count: number) => {
    const [without, live] = await Promise.all([run(turn, 'without', count), run(turn, 'with', count)]);
    return { without, live };
  };

  await pair(0, 500);
  const seconds = { without: 0, with: 0 };
  let [pages, pageSeconds] = [0, 0];
  for (let turn = 1; turn <= Number(options.rounds); turn += 1) {
    const { without, live } = await pair(turn, items);
    seconds.without += without.cpuSeconds;
    seconds.with += live.cpuSeconds;
    const ofBatch = await countPages(temporal, live.name);
    pages += ofBatch;
    pageSeconds += await pagesOf(live.result, { batch: live.name, count: ofBatch });
  }

  const rounds = Number(options.rounds);
  return {
    ratio: round(seconds.with / seconds.without, 3),
    share: round(pageSeconds / seconds.without, 4),
    pagesOfABatch: round(pages / rounds, 1),
    pageCpuSeconds: round(pageSeconds / Math.max(pages, 1), 3),
    batchCpuSeconds: round(seconds.without / rounds, 1),
    items,
  };
}

/** CPU of as many pages of all items as a batch has written: each of those told fewer. */
async function pagesOf(
  result: ConversionBatchResult,
  { batch, count }: { batch: string; count: number },
): Promise<number> {
  const { folder = '', results = '', ...state } = result;
  // A batch that has ended gets no such page.
  await rm(fileURLToPath(results));
  const before = process.cpuUsage();
  const page = { batch, folder, state: { ...state, status: 'running' as const, at: Date.now() } };
  for (let left = count; left > 0; left -= 1) {
    await writeRunningPage(createLocalFiles(), { ...page, writing: { jobKey: 'page', attempt: 1 } });
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

async function countPages(temporal: Client, workflowId: string): Promise<number> {
  let count = 0;
  for await (const { events } of runsOf(temporal, workflowId)) {
    const types = events.map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
    count += types.filter((name) => name === 'conversion.writeRunningPage').length;
  }
  return count;
}

void measureWithTemporal(main);
