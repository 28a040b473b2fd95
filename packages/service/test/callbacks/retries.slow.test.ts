import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallbackOptions } from '../../src';
import { until } from '../../../../test/support/until';
import { startTestService } from '../support';
import { answerOk, createCallbackApp, deliveryOf, endedDelivery, type Receiver, startReceiver } from './receiver';

/** Reactions to an answer other than 2xx, and to no answer. */

const quick: CallbackOptions = { firstRetryMs: 40, maxRetryMs: 200, maxAttempts: 4, timeoutMs: 10_000 };
const ends: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function start(receiver: Receiver, callbacks = quick) {
  const running = await startTestService({ callbacks }, createCallbackApp());
  ends.push(running.stop, receiver.close);
  const callBack = async (path = ''): Promise<string> => {
    const data = { callback: receiver.url + path, include: ['entity'], parameters: { format: 'pdf' } };
    return (await running.client.post('format/get', data)).body.entity?.id ?? '';
  };
  return { ...running, callBack, ended: async (path = '') => endedDelivery(running.dataDir, await callBack(path)) };
}

const answerStatus =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end('{}');

const firstly = (status: number, headers: Record<string, string> = {}) =>
  startReceiver((response, count) => answerStatus(count === 1 ? status : 200, headers)(response));

it.each([500, 503, 429, 404, 301, 304])('retries after %d with the same body', async (status) => {
  const receiver = await firstly(status);
  const { ended } = await start(receiver);
  expect(await ended()).toMatchObject({ state: 'delivered', attempts: 2, problem: null });
  const [first, second] = receiver.received;
  expect(receiver.received).toHaveLength(2);
  expect(second?.body).toBe(first?.body);
});

it('retries if nothing listens', async () => {
  const gone = await startReceiver();
  await gone.close();
  const { dataDir, callBack, stop } = await start(
    { ...gone, close: () => Promise.resolve() },
    { ...quick, maxAttempts: 100 },
  );
  const id = await callBack();
  await until('it has tried', () => deliveryOf(dataDir, id)?.problem === 'ECONNREFUSED');
  expect(deliveryOf(dataDir, id)?.state).toBe('pending');
  const back = await startReceiver(answerOk, { port: gone.port });
  expect((await endedDelivery(dataDir, id))?.state).toBe('delivered');
  await stop();
  await back.close();
});

it.each([
  ['seconds', () => '1'],
  ['a date', () => new Date(Date.now() + 2_000).toUTCString()],
])('waits the full RETRY-AFTER in %s even if its own pause is shorter', async (_form, header) => {
  const receiver = await startReceiver((response, count) =>
    answerStatus(count === 1 ? 429 : 200, { 'retry-after': header() })(response),
  );
  const { ended } = await start(receiver);
  expect((await ended())?.state).toBe('delivered');
  const [first, second] = receiver.received;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(950);
});

it('gives up at once if RETRY-AFTER is later than the deadline', async () => {
  const { ended } = await start(await firstly(503, { 'retry-after': '90000' }));
  expect(await ended()).toMatchObject({ state: 'failed', attempts: 1 });
});

it('never misses the time of an attempt', async () => {
  const receiver = await startReceiver(answerStatus(500));
  const { callBack, dataDir } = await start(receiver, { ...quick, firstRetryMs: 2, maxRetryMs: 8, maxAttempts: 30 });
  const ids: string[] = [];
  // One after the other, so that nothing else wakes the service.
  for (let count = 0; count < 10; count += 1) {
    const id = await callBack();
    ids.push(id);
    expect(await endedDelivery(dataDir, id)).toMatchObject({ state: 'failed', attempts: 30 });
  }
  expect(receiver.received).toHaveLength(ids.length * 30);
});

it('stops after 410', async () => {
  const receiver = await firstly(410);
  const { ended } = await start(receiver);
  expect(await ended()).toMatchObject({ state: 'failed', attempts: 1, problem: 'HTTP 410' });
  await sleep(200);
  expect(receiver.received).toHaveLength(1);
});

it('gives up after the last attempt, and logs one line without path, query or token', async () => {
  const receiver = await startReceiver(answerStatus(500));
  const { ended, logged, client } = await start(receiver);
  expect(await ended('hook/s3cret?key=s3cret')).toMatchObject({ state: 'failed', attempts: 4, problem: 'HTTP 500' });
  await sleep(300);
  expect(receiver.received).toHaveLength(4);
  expect(logged.filter((line) => line.includes('callback'))).toEqual([
    expect.stringMatching(
      /^callback of task \S{36} to http:\/\/127\.0\.0\.1:\d+ failed after 4 attempt\(s\): HTTP 500$/,
    ),
  ]);
  expect(logged.join('\n')).not.toContain('s3cret');
  expect(logged.join('\n')).not.toContain(client.token);
});

it('gives up after the maximum age', async () => {
  const receiver = await startReceiver(answerStatus(500));
  const { ended } = await start(receiver, { ...quick, maxAttempts: 1_000, maxAgeMs: 400 });
  const { state, attempts = 0 } = (await ended()) ?? {};
  expect(state).toBe('failed');
  expect(attempts).toBeLessThan(1_000);
});

it.each([301, 302, 303, 307, 308])('does not follow a redirect with %d', async (status) => {
  const elsewhere = await startReceiver();
  const receiver = await startReceiver(answerStatus(status, { location: elsewhere.url }));
  ends.push(elsewhere.close);
  const { ended } = await start(receiver, { ...quick, maxAttempts: 2 });
  expect(await ended()).toMatchObject({ state: 'failed', problem: `HTTP ${status}, and redirects are not followed` });
  expect([receiver.received.length, elsewhere.received.length]).toEqual([2, 0]);
});

describe('a receiver that', () => {
  const impatient: CallbackOptions = { ...quick, timeoutMs: 1_500 };

  it('never answers times out, and is tried again', async () => {
    const receiver = await startReceiver((response, count) => {
      if (count > 1) answerOk(response, count, receiver.received[0] as never);
    });
    const { dataDir, callBack } = await start(receiver, impatient);
    expect(await endedDelivery(dataDir, await callBack())).toMatchObject({ state: 'delivered', attempts: 2 });
  });

  it('sends an endless answer counts as delivered, and is cut off', async () => {
    let isClosed = false;
    const receiver = await startReceiver((response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => {
        clearInterval(drip);
        isClosed = true;
      });
    });
    const { ended } = await start(receiver, impatient);
    expect(await ended()).toMatchObject({ state: 'delivered', attempts: 1 });
    await until('it is cut off', () => isClosed);
  });

  it('sends a huge answer is not read to the end', async () => {
    let written = 0;
    const receiver = await startReceiver((response) => {
      response.writeHead(200);
      const piece = Buffer.alloc(64 * 1024);
      const pour = () => {
        while (!response.destroyed && written < 200 * 1024 * 1024 && response.write(piece)) written += piece.length;
        written += piece.length;
      };
      response.on('drain', pour);
      pour();
    });
    const { ended } = await start(receiver);
    expect((await ended())?.state).toBe('delivered');
    expect(written).toBeLessThan(20 * 1024 * 1024);
  });
});

it.each([
  [{ timeoutMs: 0 }, 'callbacks.timeoutMs must be a whole number of at least 1, not 0.'],
  [{ timeoutMs: 2 ** 31 }, 'callbacks.timeoutMs'],
  [{ maxAttempts: 1.5 }, 'callbacks.maxAttempts'],
  [{ firstRetryMs: Number.NaN }, 'callbacks.firstRetryMs'],
])('refuses to start with the options %j', async (callbacks, message) => {
  await expect(startTestService({ callbacks })).rejects.toThrow(message);
});
