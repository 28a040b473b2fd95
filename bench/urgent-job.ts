import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { BatchHandle } from '../src/client/batch-handle';
import { FileConversionClient } from '../src/client/file-conversion-client';
import type { BatchState } from '../src/batch/model/state';
import { app, drawing } from './support/app';
import { writeManifest } from './support/batches';
import { median, round } from './support/figures';
import { measureWithTemporal, type TemporalSetting } from './support/measurement';
import { limitsOf, startEmbeddedService } from './support/service-processes';
import { startWorker } from './support/worker';
import { startRun } from '../test/support/batches';

/**
 * Single jobs that somebody waits for, one after the other: first with nothing else running, then while a large batch waits for the same tight
 * rate limit in the same worker. The batch is left where it is at the end.
 */
const { values: options } = parseArgs({
  options: {
    items: { type: 'string', default: '5000' },
    jobs: { type: 'string', default: '9' },
    limit: { type: 'string', default: '20' },
    'window-seconds': { type: 'string', default: '2' },
    /** Of the single jobs: `document` is Markdown to PDF, `drawing` what the batch converts. */
    urgent: { type: 'string', default: 'document' },
  },
});
const items = Number(options.items);
const jobs = Number(options.jobs);
const rateLimits = limitsOf(Number(options.limit), Number(options['window-seconds']));
const text = 'Some *emphasis*, `code`, [a link](http://example.com) and plain words after that.\n\n'.repeat(5);
const urgent =
  options.urgent === 'drawing'
    ? { name: 'urgent.svg', output: 'png', content: drawing }
    : { name: 'urgent.md', output: 'pdf', content: `# Report\n\n${text}` };
/** After so many the worker knows how long a conversion takes. */
const warmJobs = 6;
const taskQueue = 'urgent-bench';

async function main({ folder, temporal, temporalAddress, owns }: TemporalSetting) {
  const { baseUrl } = owns(await startEmbeddedService({ dataDir: path.join(folder, 'service'), rateLimits }));
  owns(await startWorker({ temporalAddress, taskQueue, apps: { bench: { ...app, baseUrl } } }));
  const client = new FileConversionClient({ client: temporal, app: 'bench', taskQueue });
  await writeFile(path.join(folder, 'logo.svg'), drawing);
  await writeFile(path.join(folder, urgent.name), urgent.content);
  // What the worker learns of the pair and of the limit it knows in both rounds.
  for (let job = 1; job <= warmJobs; job += 1) await convertOne(client, folder, `warm-${job}`);
  const idle = await convertEach(client, folder, 'idle');
  const batch = await startBatch(client, folder);
  const before = await batch.state();
  const startedAt = performance.now();
  const busy = await convertEach(client, folder, 'busy');
  const after = await batch.state();
  const batchSeconds = (performance.now() - startedAt) / 1_000;
  const [idleMs, busyMs] = [median(idle), median(busy)];
  return {
    ratio: round(busyMs / idleMs),
    worstRatio: round(Math.max(...busy) / idleMs),
    idleMs: Math.round(idleMs),
    busyMs: Math.round(busyMs),
    worstBusyMs: Math.round(Math.max(...busy)),
    batchJobsPerSecond: round((endedOf(after) - endedOf(before)) / batchSeconds),
    batchLeft: items - endedOf(after),
    inFlight: after.inFlight,
    items,
    jobs,
    urgent: options.urgent,
    rateLimits,
  };
}

/** Resolves when the batch has as many jobs in flight as it may, and some have ended: its work waits in every line. */
async function startBatch(client: FileConversionClient, folder: string): Promise<BatchHandle> {
  const source = pathToFileURL(path.join(folder, 'logo.svg')).href;
  const destinationOf = (item: number) => pathToFileURL(path.join(folder, 'batch', `${item}.png`)).href;
  await writeManifest(path.join(folder, 'run'), items, (item) => ({
    source,
    output: 'png',
    destination: destinationOf(item),
  }));
  const batch = await startRun(client, { name: 'batch', folder: path.join(folder, 'run'), items });
  while (endedOf(await batch.state()) < 50) await sleep(500);
  return batch;
}

async function convertEach(client: FileConversionClient, folder: string, name: string): Promise<number[]> {
  const times: number[] = [];
  for (let job = 1; job <= jobs; job += 1) {
    // At any moment of a window, not always at the one at which the job before ended.
    await sleep(Math.random() * rateLimits.windowSeconds * 1_000);
    times.push(await convertOne(client, folder, `${name}-${job}`));
  }
  console.log(`${name}  ${times.map((ms) => (ms / 1_000).toFixed(1)).join('  ')} s`);
  return times;
}

/** Milliseconds from the request to the file. */
async function convertOne(client: FileConversionClient, folder: string, name: string): Promise<number> {
  const startedAt = performance.now();
  const destination = path.join(folder, 'single', `${name}.${urgent.output}`);
  const result = await client.convert({ source: path.join(folder, urgent.name), output: urgent.output, destination });
  const ms = performance.now() - startedAt;
  const phases = Object.entries(result.phaseMs).map(([phase, phaseMs]) => `${phase} ${phaseMs}`);
  console.log(`  ${name.padEnd(8)} ${ms.toFixed(0).padStart(6)} ms  (${phases.join(', ')})`);
  return ms;
}

function endedOf({ succeeded, failed }: BatchState): number {
  return succeeded + failed;
}

void measureWithTemporal(main);
