import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { quickPolicies } from '../support/conversion-worker';
import { workersOfEachTest } from '../support/killable-workers';
import { until } from '../support/until';

/** The only worker is killed with `kill -9` while it sends the notice of a batch that has ended. */

const workers = workersOfEachTest();

it("another worker sends a killed worker's undelivered notice under the same id", async () => {
  const heard: unknown[] = [];
  let isOpen = false;
  const listener = createServer((request, response) => {
    heard.push(request.headers['webhook-id']);
    // Earlier requests get no answer.
    if (isOpen) response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const env = {
    FILECONV_NOTIFY_URL: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`,
    FILECONV_NOTIFY_ALLOWED_HOSTS: '127.0.0.1',
  };
  try {
    const worker = await workers.startWorker({ env });
    const destination = path.join(workers.folder, 'a.pdf');
    const items = [{ source: await workers.source('a.md'), output: 'pdf', destination }];
    const batch = await workers.client.startBatch({ name: `batch-${randomUUID()}`, items, policies: quickPolicies });
    expect(await batch.result()).toMatchObject({ status: 'completed' });
    await until('it is about to be told', () => heard.length > 0);
    await worker.kill();
    isOpen = true;
    await workers.startWorker({ env });
    await until('it is told', () => heard.length > 1);
    expect(new Set(heard).size).toBe(1);
  } finally {
    listener.close().closeAllConnections();
  }
});
