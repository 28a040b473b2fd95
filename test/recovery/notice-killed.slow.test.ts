import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { quickPolicies } from '../support/conversion-worker';
import { startStubService } from '../support/stub-service';
import { testClient } from '../support/temporal';
import { until } from '../support/until';
import { WorkerProcess } from '../support/worker-process';

/** The only worker is killed with `kill -9` as it tells that a batch has ended, which it had by then. */

it('another worker sends the word that a killed one has not been heard with, under the same id', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'fileconv-test-'));
  const temporal = await testClient();
  const stub = await startStubService();
  const heard: unknown[] = [];
  let isOpen = false;
  const listener = createServer((request, response: ServerResponse) => {
    heard.push(request.headers['webhook-id']);
    // Whoever asks before waits for an answer that never comes.
    if (isOpen) response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const taskQueue = `test-${randomUUID()}`;
  const workers: WorkerProcess[] = [];
  const startWorker = async () => {
    const own = path.join(folder, `worker-${workers.length}`);
    await mkdir(own);
    const env = {
      FILECONV_NOTIFY_URL: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`,
      FILECONV_NOTIFY_ALLOWED_HOSTS: '127.0.0.1',
    };
    const worker = await WorkerProcess.start({ taskQueue, folder: own, apps: { stub: stub.url }, env });
    workers.push(worker);
    return worker;
  };
  try {
    const worker = await startWorker();
    const client = new FileConversionClient({ client: temporal, taskQueue, app: 'stub' });
    const source = path.join(folder, 'a.md');
    await writeFile(source, '# A\n');
    const items = [{ source, output: 'pdf', destination: path.join(folder, 'a.pdf') }];
    const batch = await client.startBatch({ name: `batch-${randomUUID()}`, items, policies: quickPolicies });
    expect(await batch.result()).toMatchObject({ status: 'completed' });
    await until('it is about to be told', () => heard.length > 0);
    await worker.kill();
    isOpen = true;
    await startWorker();
    await until('it is told', () => heard.length > 1);
    expect(new Set(heard).size).toBe(1);
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    listener.close().closeAllConnections();
    await temporal.connection.close();
    await stub.close();
    await rm(folder, { recursive: true, force: true });
  }
});
