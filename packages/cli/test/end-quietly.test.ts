import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { retriesThatEndQuietly } from '../src/stack/quiet-retries';

let uncaught: unknown[];
let original: NodeJS.UncaughtExceptionListener[];

beforeEach(() => {
  uncaught = [];
  original = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => uncaught.push(error));
});

afterEach(() => {
  process.removeAllListeners('uncaughtException');
  for (const listener of original) process.on('uncaughtException', listener);
});

it('a request waiting for its retry throws nothing when its connection is closed', async () => {
  const connection = Connection.lazy({ address: '127.0.0.1:1', interceptors: retriesThatEndQuietly() });
  void connection.workflowService.getSystemInfo({}).catch(() => undefined);
  await sleep(300);
  await connection.close();
  await sleep(1_500);
  expect(uncaught).toEqual([]);
});

describe('with a server that accepts requests but never answers, as behind a dead network', () => {
  let server: http2.Http2Server;
  let connection: Connection;

  async function connect(options?: Parameters<typeof retriesThatEndQuietly>[0]): Promise<void> {
    server = http2.createServer().on('stream', (stream) => stream.on('error', () => undefined));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    connection = Connection.lazy({ address, interceptors: retriesThatEndQuietly(options) });
  }

  afterEach(async () => {
    await connection.close();
    server.close();
  });

  const deadlineExceeded = { code: 4 };

  it('a request fails in the end, including its retries', async () => {
    await connect({ answerWithinMs: 300 });
    await expect(connection.workflowService.getSystemInfo({})).rejects.toMatchObject(deadlineExceeded);
  });

  it('a request keeps its own shorter deadline instead of the default minute', async () => {
    await connect();
    const asked = connection.withDeadline(Date.now() + 50, () => connection.workflowService.getSystemInfo({}));
    await expect(asked).rejects.toMatchObject(deadlineExceeded);
  });
});
