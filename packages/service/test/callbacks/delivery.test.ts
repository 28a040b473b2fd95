import { setTimeout as sleep } from 'node:timers/promises';
import { startTestService, tinyPng, tinySvg } from '../support';
import { createCallbackApp, deliveryOf, endedDelivery, type Receiver, startReceiver } from './receiver';

/** Content and time of requests to the URL of the data key `callback`. */

let receiver: Receiver;
let running: Awaited<ReturnType<typeof startTestService>>;

beforeEach(async () => {
  receiver = await startReceiver();
  running = await startTestService({}, createCallbackApp());
});

afterEach(async () => {
  await running.stop();
  await receiver.close();
});

const everything = ['entity', 'payload', 'result'];

async function startConversion(
  data: Record<string, unknown> = {},
  file = { name: 'dot.png', data: tinyPng as string | Buffer },
) {
  const connector = await running.client.upload(file.name, file.data);
  return running.client.startConversion(connector, 'webp', { callback: `${receiver.url}done?key=s3cret`, ...data });
}

/** The `output` of task/response for a task, as literal text. */
async function monitored(connector: string, include: readonly string[]): Promise<string> {
  const data = JSON.stringify({ app: running.client.app.appId, connector, parameters: { include } });
  const answer = await running.client.send('task/response', { body: new URLSearchParams({ data }) });
  return /^{"result":{"output":(.*),"error":{},"warning":{}}}$/.exec(await answer.text())?.[1] ?? '';
}

describe('a completed conversion', () => {
  it('is POSTed once as JSON, with the content of task/response', async () => {
    const id = await startConversion({ include: everything });
    const [callback] = await receiver.count(1);
    expect(await endedDelivery(running.dataDir, id)).toMatchObject({ state: 'delivered', attempts: 1, problem: null });
    expect([callback?.method, callback?.path]).toEqual(['POST', '/done?key=s3cret']);
    expect(callback?.headers['content-type']).toBe('application/json');
    expect(callback?.body).toBe(await monitored(id, everything));
    expect(JSON.parse(callback?.body ?? '')).toMatchObject({
      entity: { id, status: 'completed' },
      payload: { include: everything },
      result: { output: { connector: id, status: 'successful' }, error: {}, warning: {} },
    });
    await sleep(300);
    expect(receiver.received).toHaveLength(1);
  });

  it('contains the items of its own include, by default only the result', async () => {
    const first = await startConversion({ include: ['entity'] });
    await receiver.count(1);
    await startConversion({ include: undefined });
    const bodies = (await receiver.count(2)).map(({ body }): unknown => JSON.parse(body));
    expect(Object.keys(bodies[0] as object)).toEqual(['entity']);
    expect(bodies[0]).toMatchObject({ entity: { id: first } });
    expect(Object.keys(bodies[1] as object)).toEqual(['result']);
  });

  it('calls back in mode sync too', async () => {
    const id = await startConversion({ mode: 'sync' });
    expect((await receiver.count(1))[0]?.body).toBe(await monitored(id, ['entity']));
  });

  it('that failed says so at the top level if include leaves out the result', async () => {
    const id = await startConversion({}, { name: 'broken.svg', data: tinySvg.slice(0, -20) });
    const [callback] = await receiver.count(1);
    expect(JSON.parse(callback?.body ?? '')).toMatchObject({
      entity: { id, status: 'completed' },
      code: 'FAILED_CONVERT',
    });
  });

  it('never sends a token, and keeps the query of the URL out of the log', async () => {
    await endedDelivery(running.dataDir, await startConversion({ include: everything }));
    const sent = JSON.stringify(receiver.received);
    expect(receiver.received[0]?.headers.authorization).toBeUndefined();
    expect(sent).not.toContain(running.client.token);
    expect(running.logged.join('\n')).not.toMatch(/s3cret|token-/);
  });
});

it('a refused callback URL is never called', async () => {
  const include = ['entity'];
  for (const callback of ['https://other.example/', 'nowhere', receiver.url.replace('//', '//user:pw@')]) {
    const { body } = await running.client.post('format/get', { callback, include, parameters: { format: 'pdf' } });
    expect(body.code).toMatch(/CALLBACK/);
    expect(deliveryOf(running.dataDir, body.entity?.id ?? '')).toBeUndefined();
  }
  await sleep(200);
  expect(receiver.received).toEqual([]);
});
