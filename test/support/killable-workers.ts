import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { startStubService, type StubService } from './stub-service';
import { testClient } from './temporal';
import { WorkerProcess, type WorkerProcessOptions } from './worker-process';

/** A stub, a folder, and workers in processes of their own, which a test may kill. */
export interface KillableWorkers {
  folder: string;
  temporal: Client;
  stub: StubService;
  startWorker: (taskQueue: string, env?: WorkerProcessOptions['env']) => Promise<WorkerProcess>;
  close: () => Promise<void>;
}

export async function killableWorkers(): Promise<KillableWorkers> {
  const folder = await mkdtemp(path.join(tmpdir(), 'fileconv-test-'));
  const temporal = await testClient();
  const stub = await startStubService();
  const workers: WorkerProcess[] = [];
  return {
    folder,
    temporal,
    stub,
    async startWorker(taskQueue, env = {}) {
      const own = path.join(folder, `worker-${workers.length}`);
      await mkdir(own);
      const worker = await WorkerProcess.start({ taskQueue, folder: own, apps: { stub: stub.url }, env });
      workers.push(worker);
      return worker;
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.kill()));
      await temporal.connection.close();
      await stub.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
