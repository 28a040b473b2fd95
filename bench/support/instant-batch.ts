import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { runFiles } from '../../src/batch/run-files';
import { FileConversionPlugin } from '../../src/plugin';
import type { BatchItem } from '../../src/shared/batch';
import { conversionWorkerOptions } from '../../src/worker';

/** Of the worker's process. */
interface Usage {
  rssBytes: number;
  /** Since its start. */
  cpuSeconds: number;
}

/** A worker, in a process of its own, of batches whose jobs are done as soon as they start. */
export interface InstantWorker {
  usage(): Promise<Usage>;
  kill(): void;
}

export async function startInstantWorker(temporalAddress: string, taskQueue: string): Promise<InstantWorker> {
  const child = fork(__filename, [temporalAddress, taskQueue]);
  await once(child, 'message');
  return {
    async usage() {
      child.send('usage');
      const [usage] = (await once(child, 'message')) as [Usage];
      return usage;
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

/** What a planner would have written. */
export async function writeManifest(folder: string, count: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  const rows = Array.from({ length: count }, (_, index): BatchItem => {
    const item = index + 1;
    return { item, source: `file:///in/${item}.md`, output: 'pdf', destination: `file:///out/${item}.pdf` };
  });
  await writeFile(path.join(folder, runFiles.manifest), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

async function runWorker([address = '', taskQueue = '']: string[]): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address });
  const apps = { bench: { baseUrl: 'http://127.0.0.1:1', appId: 'bench', token: 'bench-token' } };
  const worker = await Worker.create({
    ...conversionWorkerOptions,
    connection,
    taskQueue,
    plugins: [new FileConversionPlugin({ apps, workflows: false })],
    workflowsPath: require.resolve('./instant-jobs'),
  });
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ rssBytes: process.memoryUsage().rss, cpuSeconds: (user + system) / 1e6 } satisfies Usage);
  });
  process.send?.('ready');
  await worker.run();
}

if (require.main === module) {
  process.once('disconnect', () => process.exit());
  void runWorker(process.argv.slice(2));
}
