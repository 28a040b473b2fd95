import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { app } from './app';
import type { TemporalSetting } from './measurement';
import { startWorker } from './worker';

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
export async function transferByJob(
  { temporal, temporalAddress, owns }: TemporalSetting,
  { baseUrl, smallSourcePath, sourcePath, resultPath }: JobTransferOptions,
): Promise<JobTransfer> {
  const worker = owns(await startWorker({ temporalAddress, apps: { bench: { ...app, baseUrl } } }));
  const client = new FileConversionClient({ client: temporal, app: 'bench' });
  const policies = { firstCheckAfter: 1 };
  const convert = (source: string) =>
    client.convert({ source, output: 'bin', destination: resultPath, onExisting: 'overwrite', policies });
  // What the first transfer of any size loads and compiles is no growth.
  await convert(smallSourcePath);
  const memory = watchMemory(worker.process.pid ?? 0);
  const { phaseMs } = await convert(sourcePath);
  return {
    uploadSeconds: (phaseMs.uploading ?? 0) / 1_000,
    downloadSeconds: (phaseMs.downloading ?? 0) / 1_000,
    workerGrowthMiB: await memory.growthMiB(),
  };
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
