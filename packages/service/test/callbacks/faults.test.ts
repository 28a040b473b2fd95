import { setTimeout as sleep } from 'node:timers/promises';
import { startTestService, tinyPng } from '../support';
import { createCallbackApp, endedDelivery, type Receiver, startReceiver } from './receiver';

let receiver: Receiver;
let running: Awaited<ReturnType<typeof startTestService>> | undefined;

beforeEach(async () => (receiver = await startReceiver()));

afterEach(async () => {
  await running?.stop();
  await receiver.close();
});

async function convertWith(faults: NonNullable<NonNullable<Parameters<typeof startTestService>[0]>['faults']>) {
  running = await startTestService({ faults }, createCallbackApp());
  const { client, dataDir } = running;
  const { output } = await client.post('convert/file', {
    connector: await client.upload('dot.png', tinyPng),
    callback: receiver.url,
    parameters: { output: 'webp' },
  });
  await endedDelivery(dataDir, output.connector ?? '');
}

it('a lost callback never arrives', async () => {
  await convertWith({ faults: [{ kind: 'callback_lost' }] });
  await sleep(200);
  expect(receiver.received).toEqual([]);
});

it('a late callback arrives after its delay', async () => {
  const startedAt = Date.now();
  await convertWith({ faults: [{ kind: 'callback_late', ms: 700 }] });
  const [callback] = await receiver.count(1);
  expect((callback?.at ?? 0) - startedAt).toBeGreaterThanOrEqual(700);
});

it('a duplicate callback arrives as often as configured, each time the same', async () => {
  await convertWith({ faults: [{ kind: 'callback_duplicate', copies: 3 }] });
  expect(new Set((await receiver.count(3)).map(({ body }) => body)).size).toBe(1);
  expect(receiver.received).toHaveLength(3);
});
