import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { FileConversionPlugin } from '../../src/plugin';
import { createConversionWorker } from '../../src/worker';
import { startBenchServer } from './temporal-server';

export interface JobTransfer {
  /** Of the job's phases as the workflow sees them, so Temporal's own time is in them. */
  readonly uploadSeconds: number;
  readonly downloadSeconds: number;
  /** How much the worker's resident memory grew, at most, over what it was after a small job. */
  readonly workerGrowthMiB: number;
}

export interface JobTransferOptions {
  readonly baseUrl: string;
  readonly smallSourcePath: string;
  readonly sourcePath: string;
  readonly resultPath: string;
}

/** The same two files as the two transfers of a `conversionJob`, in a worker process of its own. */
export async function transferByJob(options: JobTransferOptions): Promise<JobTransfer> {
  const server = await startBenchServer();
  const worker = fork(__filename, [server.address, options.baseUrl]);
  await once(worker, 'message');
  const connection = await Connection.connect({ address: server.address });
  const client = new FileConversionClient({ client: new Client({ connection }), app: 'bench' });
  const convert = (source: string) =>
    client.convert({
      source,
      output: 'bin',
      destination: options.resultPath,
      onExisting: 'overwrite',
      policies: { firstCheckAfter: 1 },
    });
  try {
    // What the first transfer of any size loads and compiles is no growth.
    await convert(options.smallSourcePath);
    const memory = watchMemory(worker.pid ?? 0);
    const { phaseMs } = await convert(options.sourcePath);
    return {
      uploadSeconds: (phaseMs.uploading ?? 0) / 1_000,
      downloadSeconds: (phaseMs.downloading ?? 0) / 1_000,
      workerGrowthMiB: await memory.growthMiB(),
    };
  } finally {
    await connection.close();
    worker.kill();
    await server.stop();
  }
}

/** Samples another process's resident memory from the kernel's account of it (Linux). */
function watchMemory(pid: number): { growthMiB(): Promise<number> } {
  const end = new AbortController();
  const highestGrowth = (async () => {
    const before = await residentMiB(pid);
    let highest = before;
    while (!end.signal.aborted) {
      highest = Math.max(highest, await residentMiB(pid));
      await sleep(20);
    }
    return highest - before;
  })();
  return {
    growthMiB() {
      end.abort();
      return highestGrowth;
    },
  };
}

async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
}

async function runWorker(address: string, baseUrl: string): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address });
  const plugin = new FileConversionPlugin({ apps: { bench: { baseUrl, appId: 'bench', token: 'bench-token' } } });
  const worker = await createConversionWorker({ connection, plugin });
  const running = worker.run();
  process.send?.('ready');
  await running;
}

if (require.main === module) {
  const [, , address = '', baseUrl = ''] = process.argv;
  void runWorker(address, baseUrl);
}
