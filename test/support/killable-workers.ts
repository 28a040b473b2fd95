import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { startStubService, type StubService } from './stub-service';
import { testClient } from './temporal';
import { whileTesting } from './while-testing';
import { WorkerProcess, type WorkerProcessOptions } from './worker-process';

/** A stub, a folder, and workers as separate processes on one task queue, which a test may kill. */
export interface KillableWorkers {
  folder: string;
  temporal: Client;
  stub: StubService;
  taskQueue: string;
  client: FileConversionClient;
  /** Writes a source file into the folder and returns its path. */
  source(name: string): Promise<string>;
  startWorker: (options?: Partial<WorkerProcessOptions>) => Promise<WorkerProcess>;
  close: () => Promise<void>;
}

async function killableWorkers(): Promise<KillableWorkers> {
  const folder = await mkdtemp(path.join(tmpdir(), 'fileconv-test-'));
  const temporal = await testClient();
  const stub = await startStubService();
  const taskQueue = `test-${randomUUID()}`;
  const workers: WorkerProcess[] = [];
  return {
    folder,
    temporal,
    stub,
    taskQueue,
    client: new FileConversionClient({ client: temporal, taskQueue, app: 'stub' }),
    async source(name) {
      const file = path.join(folder, name);
      await writeFile(file, '# A report\n');
      return file;
    },
    async startWorker(options = {}) {
      const own = path.join(folder, `worker-${workers.length}`);
      await mkdir(own);
      const worker = await WorkerProcess.start({ taskQueue, folder: own, apps: { stub: stub.url }, ...options });
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

/** New ones for each test of the file or `describe` that calls this. */
export const workersOfEachTest = (): KillableWorkers =>
  whileTesting(killableWorkers, (workers) => workers.close(), { before: beforeEach, after: afterEach });

/** The same ones for all of these tests. */
export const workersOfAllTests = (): KillableWorkers =>
  whileTesting(killableWorkers, (workers) => workers.close(), { before: beforeAll, after: afterAll });
