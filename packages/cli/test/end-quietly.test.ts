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

it('a request that is to be tried again when its connection is closed throws nothing then', async () => {
  const connection = Connection.lazy({ address: '127.0.0.1:1', interceptors: retriesThatEndQuietly() });
  void connection.workflowService.getSystemInfo({}).catch(() => undefined);
  await sleep(300);
  await connection.close();
  await sleep(1_500);
  expect(uncaught).toEqual([]);
});
