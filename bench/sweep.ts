import { createWriteStream } from 'node:fs';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { createHash } from 'node:crypto';
import { ledgerFile, type LedgerRow } from '../src/batch/ledger';
import { jsonLine, mapOrdered } from '../src/batch/lines';
import { SweepSchedules } from '../src/client/sweep-schedules';
import { createLocalFiles } from '../src/storage/local-files';
import { app } from './support/app';
import { runsOf } from './support/batches';
import { round } from './support/figures';
import { measureWithTemporal, type TemporalSetting } from './support/measurement';
import { startWorker } from './support/worker';

/** A scheduled sweep over real files of which none has changed since it was converted. */
const { values: options } = parseArgs({ options: { rows: { type: 'string', default: '100000' } } });
const rows = Number(options.rows);
const name = 'archive';
const text = 'as it was';
const content = { bytes: text.length, sha256: createHash('sha256').update(text).digest('hex') };

/** Writes source and result of a row; returns its line of the ledger. */
async function convertedRow(folder: string, row: number): Promise<string> {
  const at = (kind: string, extension: string) =>
    path.join(folder, kind, `department-${row % 500}`, `an invoice with a longer name ${row}.${extension}`);
  const [source, result] = [at('in', 'md'), at('out', 'html')];
  const lastWeek = Date.now() / 1_000 - 7 * 86_400;
  for (const file of [source, result]) {
    await writeFile(file, text);
    await utimes(file, lastWeek, lastWeek);
  }
  const uri = pathToFileURL(source).href;
  const seen = await createLocalFiles().look(uri);
  const [destination, options] = [pathToFileURL(result).href, { output: 'html', extension: 'md' }];
  const delivered = {
    source: { ...content, ...(seen.kind === 'file' && { stamp: seen.stamp }) },
    output: { ...content, uri: destination, name: path.basename(result) },
    taskId: '00000000-0000-4000-8000-000000000000',
    options,
  };
  return jsonLine({ destination, source: uri, options, run: 1, status: 'succeeded', delivered } satisfies LedgerRow);
}

async function* ledger(folder: string): AsyncGenerator<string> {
  yield jsonLine({ run: 1, vcredits: rows });
  const numbers = Array.from({ length: rows }, (_, index) => index + 1);
  yield* mapOrdered(numbers, { concurrency: 16 }, (row) => convertedRow(folder, row));
}

async function main({ folder, temporal, temporalAddress, owns }: TemporalSetting) {
  for (let department = 0; department < 500; department += 1) {
    for (const kind of ['in', 'out'])
      await mkdir(path.join(folder, kind, `department-${department}`), { recursive: true });
  }
  const batchFolder = path.join(folder, 'batch');
  await mkdir(batchFolder);
  await pipeline(Readable.from(ledger(folder)), createWriteStream(path.join(batchFolder, ledgerFile)));

  // There is no service: a sweep that sends a file would never end.
  const apps = { bench: { ...app, baseUrl: 'http://127.0.0.1:1' } };
  const worker = owns(await startWorker({ temporalAddress, taskQueue: name, apps }));
  const schedules = new SweepSchedules({ client: temporal, taskQueue: name, app: 'bench' });
  const [from, out] = [path.join(folder, 'in'), path.join(folder, 'out')];
  await schedules.create({ name, from, to: 'html', out, batchFolder, recursive: true, times: { everyMs: 86_400_000 } });
  await schedules.trigger(name);
  const started = performance.now();
  let sweep = await schedules.lastSweep(name);
  for (; !sweep.lastResult && !sweep.lastFailure; sweep = await schedules.lastSweep(name)) await sleep(100);
  const seconds = round((performance.now() - started) / 1_000, 1);
  const { skipped } = { skipped: 0, ...sweep.lastResult };
  if (skipped !== rows) throw new Error(`${skipped} of ${rows} were skipped: ${JSON.stringify(sweep)}`);
  const { workflowId = '' } = (await schedules.describe(name)).info.recentActions[0]?.action.workflow ?? {};
  const tasks = { workflowTasks: 0, activities: 0 };
  for (const id of [workflowId, name]) {
    for await (const { events } of runsOf(temporal, id)) {
      tasks.workflowTasks += events.filter((event) => event.workflowTaskCompletedEventAttributes).length;
      tasks.activities += events.filter((event) => event.activityTaskScheduledEventAttributes).length;
    }
  }
  const { rssBytes, cpuSeconds } = await worker.usage();
  return { rows, seconds, ...tasks, cpuSeconds: round(cpuSeconds, 1), rssMiB: Math.round(rssBytes / 1024 / 1024) };
}

void measureWithTemporal(main);
