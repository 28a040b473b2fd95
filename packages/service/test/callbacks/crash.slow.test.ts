import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../../test/support/until';
import type { CallbackOptions } from '../../src';
import { openDatabase } from '../../src/shared/database';
import { killServices, spawnService } from '../service-process';
import { createDataDir, startTestService, TestClient, tinyPng } from '../support';
import { answerOk, createCallbackApp, deliveryOf, endedDelivery, type Receiver, startReceiver } from './receiver';

/** No callback is lost with a process, and none delays conversions. */

const testApp = createCallbackApp();
const ends: (() => Promise<void>)[] = [];
let dataDir: string;

beforeEach(async () => (dataDir = await createDataDir()));

afterEach(async () => {
  killServices();
  for (const end of ends.splice(0)) await end();
});

async function receiverOf(...options: Parameters<typeof startReceiver>): Promise<Receiver> {
  const receiver = await startReceiver(...options);
  ends.push(receiver.close);
  return receiver;
}

async function spawn(callbacks: CallbackOptions): Promise<{ kill: () => Promise<void>; client: TestClient }> {
  const { kill, url } = await spawnService({ dataDir, apps: [testApp.app], conversionConcurrency: 2, callbacks });
  return { kill, client: new TestClient(url, testApp) };
}

const ask = async (client: TestClient, callback: string): Promise<string> => {
  const data = { callback, include: ['entity'], parameters: { format: 'pdf' } };
  return (await client.post('format/get', data)).body.entity?.id ?? '';
};

/** Number of completed tasks that have a callback but no row in the callback queue. */
function countForgotten(): unknown {
  const db = openDatabase(path.join(dataDir, 'service.db'));
  try {
    const forgotten = `SELECT count(*) AS count FROM tasks
      WHERE status = 'completed' AND callback IS NOT NULL AND id NOT IN (SELECT task FROM callbacks)`;
    return (db.prepare(forgotten).get() as { count: unknown }).count;
  } finally {
    db.close();
  }
}

const idsIn = ({ received }: Receiver): Set<string> =>
  new Set(received.map(({ body }) => (JSON.parse(body) as { entity: { id: string } }).entity.id));

describe('a service killed with kill -9', () => {
  it('resumes callbacks that wait for an answer, for a slot and for their next attempt', async () => {
    let open = false;
    const receiver = await receiverOf((response, count, received) => {
      if (open) answerOk(response, count, received);
      else if (received.path === '/failing') response.writeHead(500).end();
    });
    const slow = { firstRetryMs: 600_000, timeoutMs: 600_000 };
    const before = await spawn({ ...slow, firstRetryMs: 2_000 });
    const failing = await ask(before.client, `${receiver.url}failing`);
    await until('it waits for its next attempt', () => (deliveryOf(dataDir, failing)?.attempts ?? 0) > 0);
    const hanging: string[] = [];
    for (let count = 0; count < 10; count += 1) hanging.push(await ask(before.client, receiver.url));
    await receiver.count(5);
    await before.kill();
    expect(deliveryOf(dataDir, failing)).toMatchObject({ state: 'pending', problem: 'HTTP 500' });

    open = true;
    await spawn(slow);
    for (const id of [failing, ...hanging]) expect((await endedDelivery(dataDir, id))?.state).toBe('delivered');
    expect(idsIn(receiver)).toEqual(new Set([failing, ...hanging]));
  });

  it('calls back for every accepted conversion, whenever it is killed', async () => {
    const receiver = await receiverOf();
    const accepted: string[] = [];
    for (let round = 0; round < 2; round += 1) {
      const { client, kill } = await spawn({ firstRetryMs: 50 });
      const connector = await client.upload('dot.png', tinyPng);
      // The engine is warm now: conversions take milliseconds, so that some end around the kill.
      await client.post('convert/file', { connector, parameters: { output: 'webp' } });
      for (let count = 0; count < 5; count += 1) {
        accepted.push(await client.startConversion(connector, 'webp', { callback: receiver.url }));
      }
      await sleep(10 + round * 20);
      await kill();
      expect(countForgotten()).toBe(0);
    }
    await spawn({ firstRetryMs: 50 });
    await until('all are called back', () => accepted.every((id) => idsIn(receiver).has(id)));
    for (const id of accepted) expect((await endedDelivery(dataDir, id))?.state).toBe('delivered');
  });
});

it('a closed service cuts off a hanging receiver, and delivers at its next start', async () => {
  let open = false;
  const receiver = await receiverOf((response, count, received) => {
    if (open) answerOk(response, count, received);
  });
  const first = await startTestService({ dataDir, callbacks: { timeoutMs: 600_000 } }, testApp);
  const id = await ask(first.client, receiver.url);
  await receiver.count(1);
  // Closing waits only briefly for the answer instead of the ten minutes of the option.
  await first.service.close();
  expect(deliveryOf(dataDir, id)).toMatchObject({ state: 'pending', attempts: 0, problem: null });
  open = true;
  const second = await startTestService({ dataDir }, testApp);
  ends.push(() => second.service.close());
  expect(await endedDelivery(dataDir, id)).toMatchObject({ state: 'delivered', attempts: 1 });
});

it('sixty callbacks to a hanging receiver delay neither conversions nor other hosts, and are all delivered once it answers', async () => {
  const held: ServerResponse[] = [];
  let open = false;
  const receiver = await receiverOf((response) => {
    if (open) response.end();
    else held.push(response);
  });
  const other = await receiverOf();
  const { client, service } = await startTestService({ dataDir, callbacks: { timeoutMs: 600_000 } }, testApp);
  ends.push(() => service.close());
  expect((await client.convert({ name: 'dot.png', data: tinyPng }, 'webp')).output.status).toBe('successful');
  const ids: string[] = [];
  for (let count = 0; count < 60; count += 1) ids.push(await ask(client, receiver.url));

  for (let count = 0; count < 5; count += 1) await client.convertToBytes({ name: 'dot.png', data: tinyPng }, 'webp');
  const elsewhere = await ask(client, other.url);
  await other.count(1);
  expect(idsIn(other)).toEqual(new Set([elsewhere]));
  // One host gets at most a quarter of the concurrent attempts, which leaves room for other hosts.
  expect(receiver.received).toHaveLength(4);

  open = true;
  for (const response of held) response.end();
  await receiver.count(60);
  for (const id of ids) expect(await endedDelivery(dataDir, id)).toMatchObject({ state: 'delivered', attempts: 1 });
  expect([receiver.received.length, idsIn(receiver)]).toEqual([60, new Set(ids)]);
});
