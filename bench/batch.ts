import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { runFiles } from '../src/batch/run-files';
import { FileConversionClient } from '../src/client/file-conversion-client';
import type { BatchItemResult } from '../src/batch/model/state';
import { app } from './support/app';
import { runsOf, writeManifest } from './support/batches';
import { median, perSecond, round } from './support/figures';
import { startInstantService } from './support/instant-service';
import { measureWithTemporal, type TemporalSetting } from './support/measurement';
import { startWorker } from './support/worker';
import { startRun } from '../test/support/batches';

/**
 * A batch of many small files against a service that answers at once, and the same jobs started one by one without a batch, before and after
 * it. Server, service and worker are processes of their own on one machine.
 */
const { values: options } = parseArgs({
  options: {
    items: { type: 'string', default: '10000' },
    /** Of each of the two flat rounds. */
    flat: { type: 'string', default: '1000' },
    window: { type: 'string', default: '50' },
    /** Temporal keeps its state in a file: for more items than memory has room for, some 250 kB each. */
    'on-disk': { type: 'boolean', default: false },
  },
});
const items = Number(options.items);
const flatJobs = Number(options.flat);
const window = Number(options.window);
/** The stretch of the batch whose speed is compared: a tenth. */
const stretch = Math.floor(items / 10);
const taskQueue = 'batch-bench';
// The stub is done at once, so the first check may come at once.
const policies = { firstCheckAfter: 1 };

interface Sample {
  ended: number;
  /** Of the worker. */
  rssBytes: number;
  /** CPU that the service has used since its start. */
  serviceSeconds: number;
}

async function main({ folder, temporal, temporalAddress, owns }: TemporalSetting) {
  const service = owns(await startInstantService());
  const apps = { bench: { ...app, baseUrl: service.baseUrl } };
  const worker = owns(await startWorker({ temporalAddress, taskQueue, apps }));
  const client = new FileConversionClient({ client: temporal, app: 'bench', taskQueue });

  await writeSources(folder);
  await runFlat(client, folder, { name: 'warm', count: Math.min(200, flatJobs) });
  const flatBefore = await runFlat(client, folder, { name: 'flat-1', count: flatJobs });
  console.log(`flat   ${flatBefore.toFixed(1)} jobs/s`);

  const requestsBefore = await service.ask<number>('requests');
  await writeManifest(path.join(folder, 'run'), items, (item) => rowOf(folder, item));
  const batch = await startRun(client, { name: 'batch', folder: path.join(folder, 'run'), items, window, policies });
  const samples: Sample[] = [];
  for await (const { succeeded, failed } of batch.progress({ everyMs: 1_000 })) {
    const [{ rssBytes }, { cpuSeconds: serviceSeconds }] = await Promise.all([worker.usage(), service.usage()]);
    samples.push({ ended: succeeded + failed, rssBytes, serviceSeconds });
    if (samples.length % 30 === 0) console.log(`batch  ${succeeded + failed} of ${items}`);
  }
  const { succeeded, failed, durationMs } = await batch.result();
  const requests = (await service.ask<number>('requests')) - requestsBefore;
  const batchRate = succeeded / (durationMs / 1_000);
  console.log(`batch  ${batchRate.toFixed(1)} jobs/s`);

  const flatAfter = await runFlat(client, folder, { name: 'flat-2', count: flatJobs });
  console.log(`flat   ${flatAfter.toFixed(1)} jobs/s`);
  const results = await readResults(folder);
  const outputs = await readdir(path.join(folder, 'out'));
  const runs: { events: number; bytes: number }[] = [];
  for await (const { events, bytes } of runsOf(temporal, 'batch')) runs.push({ events: events.length, bytes });
  const flatRate = (flatBefore + flatAfter) / 2;
  const [early, late] = [rssAt(samples, 0.1 * items), rssAt(samples, 0.9 * items)];
  const ends = endsOf(results);
  const last = ends.length - 1;
  const tenths = Array.from({ length: 10 }, (_, tenth) =>
    rate(ends, tenth * stretch, Math.min((tenth + 1) * stretch, last)),
  );

  return {
    ratio: round(batchRate / flatRate),
    jobsPerSecond: round(batchRate),
    flatJobsPerSecond: round(flatRate),
    items,
    succeeded,
    failed,
    lost: items - new Set(results.map(({ item }) => item)).size,
    outputs: outputs.length,
    requestsPerJob: round(requests / items),
    lastOverFirstSpeed: round(rate(ends, last - stretch, last) / rate(ends, 0, stretch)),
    machineLastOverFirstSpeed: round(
      serviceSecondsPerJob(samples, 0, stretch) / serviceSecondsPerJob(samples, items - stretch, items),
    ),
    jobsPerSecondOfTenths: tenths.map((tenth) => round(tenth)),
    rssEarlyMiB: round(early / 1024 ** 2),
    rssLateMiB: round(late / 1024 ** 2),
    rssLateOverEarly: round(late / early),
    runs: runs.length,
    maxEventsOfARun: Math.max(...runs.map(({ events }) => events)),
    maxHistoryKiBOfARun: round(Math.max(...runs.map(({ bytes }) => bytes)) / 1024),
    eventsPerJob: round(runs.reduce((sum, { events }) => sum + events, 0) / items),
    window,
  };
}

async function writeSources(folder: string): Promise<void> {
  const sources = path.join(folder, 'sources');
  await mkdir(sources);
  for (let item = 1; item <= Math.max(items, flatJobs); item += 1) {
    await writeFile(path.join(sources, `${item}.md`), `# Report ${item}\n`);
  }
}

function rowOf(folder: string, item: number) {
  const source = pathToFileURL(path.join(folder, 'sources', `${item}.md`)).href;
  const destination = pathToFileURL(path.join(folder, 'out', `${item}.pdf`)).href;
  return { source, output: 'pdf', destination };
}

/** As many at a time as the batch has; jobs a second. */
async function runFlat(
  client: FileConversionClient,
  folder: string,
  { name, count }: { name: string; count: number },
): Promise<number> {
  return perSecond({ count, lanes: window }, async (index) => {
    const source = path.join(folder, 'sources', `${index + 1}.md`);
    const destination = path.join(folder, name, `${index + 1}.pdf`);
    const request = { source, output: 'pdf', destination, describeSource: true, policies };
    await client.convert(request, { workflowId: `${name}/${index + 1}` });
  });
}

async function readResults(folder: string): Promise<BatchItemResult[]> {
  const text = await readFile(path.join(folder, 'run', runFiles.results), 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as BatchItemResult);
}

/** When the jobs ended, in that order; milliseconds since the epoch. */
function endsOf(results: readonly BatchItemResult[]): number[] {
  return results.map(({ startedAt = 0, durationMs = 0 }) => startedAt + durationMs).sort((a, b) => a - b);
}

/** Jobs a second between two of the ends. */
function rate(ends: readonly number[], from: number, to: number): number {
  return (1_000 * (to - from)) / ((ends[to] ?? 0) - (ends[from] ?? 0));
}

/** Median of the samples taken while that item was being done, give or take a twentieth of the batch. */
function rssAt(samples: readonly Sample[], ended: number): number {
  const near = samples.filter((sample) => Math.abs(sample.ended - ended) <= items / 20);
  return median(near.map(({ rssBytes }) => rssBytes));
}

/** What the same work of the stub cost while these items were being done: its CPU grows only when the machine is slower. */
function serviceSecondsPerJob(samples: readonly Sample[], from: number, to: number): number {
  const within = samples.filter(({ ended }) => ended >= from && ended <= to);
  const [first, last] = [within[0], within.at(-1)];
  if (!first || !last) return Number.NaN;
  return (last.serviceSeconds - first.serviceSeconds) / (last.ended - first.ended);
}

void measureWithTemporal(main, { onDisk: options['on-disk'] });
