import { createServer, type AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../test/support/until';
import { createOutput } from '../src/output/output';
import { lazyConnection } from '../src/stack/quiet-retries';
import { watchTemporal } from '../src/stack/watch-temporal';

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

/** A Temporal that goes away whenever it is asked. */
async function startGoing() {
  let asked = 0;
  const server = createServer((socket) => {
    asked += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, asked: () => asked, close: () => server.close() };
}

it('a request that is to be tried again when its connection is closed throws nothing then', async () => {
  const connection = lazyConnection({ address: '127.0.0.1:1' });
  void connection.workflowService.getSystemInfo({}).catch(() => undefined);
  await sleep(300);
  await connection.close();
  await sleep(1_500);
  expect(uncaught).toEqual([]);
});

it('what watches Temporal ends at once while Temporal is away', async () => {
  const temporal = await startGoing();
  const output = createOutput({ json: true, stdout: new PassThrough(), stderr: new PassThrough(), env: {} });
  const target = { connection: { address: temporal.address }, namespace: 'default', isNamed: false };
  const watched = watchTemporal({ output }, target);
  await until('it asks', () => temporal.asked() > 0);
  await watched.close();
  temporal.close();
  await sleep(1_500);
  expect(uncaught).toEqual([]);
});
