import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createCallbackUrl, parseCallbackKeys } from '../../src/callbacks/callback-url';
import {
  type CallbackReceiver,
  type CallbackReceiverOptions,
  startCallbackReceiver,
} from '../../src/callbacks/receiver';
import type { CallbackArrival } from '../../src/job/types';
import { until } from '../support/until';

const keyText = 'receiver-key-0123456789-0123456789-abc';
const olderKeyText = 'an-older-key-0123456789-0123456789-abc';
const keys = parseCallbackKeys(`${keyText} ${olderKeyText}`);
const workflowId = 'convert/report.md-1f3a9c02';
const taskId = 'd1c5a0f4-4f0d-4c6e-8f0a-8a1d5b1e9c11';

describe('the callback receiver', () => {
  let receiver: CallbackReceiver;
  let signals: { workflowId: string; arrival: CallbackArrival }[];
  let logged: string[];
  /** Temporal's answer to a signal. */
  let temporal: () => Promise<'accepted' | 'jobOver'>;

  beforeEach(() => {
    signals = [];
    logged = [];
    temporal = () => Promise.resolve('accepted');
  });

  afterEach(async () => await receiver.close());

  async function start(options: Partial<CallbackReceiverOptions> = {}): Promise<void> {
    receiver = await startCallbackReceiver({
      keys,
      signalJob: (id, arrival) => {
        signals.push({ workflowId: id, arrival });
        return temporal();
      },
      // As with the default log level.
      log: (line, { level } = {}) => {
        if (level !== 'debug') logged.push(line);
      },
      ...options,
    });
  }

  /** Temporal accepts no signal before the test says so. */
  function holdSignals() {
    let accept: (() => void) | undefined;
    const accepted = new Promise<'accepted'>((resolve) => (accept = () => resolve('accepted')));
    let isThere = false;
    temporal = () => ((isThere = true), accepted);
    return { isThere: () => isThere, accept: () => accept?.() };
  }

  const newUrl = ({ nonce = randomUUID(), key = keys.current, base = receiver.url, id = workflowId } = {}) =>
    createCallbackUrl(base, { workflowId: id, nonce }, key);

  async function post(url: string, body: string | Buffer = '{}', headers = {}): Promise<number> {
    const response = await fetch(url, { method: 'POST', body, headers });
    await response.text();
    return response.status;
  }

  it('wakes the job named by the URL, with the nonce and the time, and passes on nothing else of the body', async () => {
    await start();
    const nonce = randomUUID();
    const before = Date.now();
    const body = JSON.stringify({ nonce: 'x', workflowId: 'other', result: { output: { status: 'successful' } } });
    expect(await post(newUrl({ nonce }), body)).toBe(204);
    expect(signals).toEqual([{ workflowId, arrival: { nonce, arrivedAt: expect.any(Number) as number } }]);
    expect(signals[0]?.arrival.arrivedAt).toBeGreaterThanOrEqual(before);
  });

  it('answers only after Temporal has accepted the signal', async () => {
    const held = holdSignals();
    await start();
    let answered = false;
    const answer = post(newUrl()).finally(() => (answered = true));
    await until('the signal', held.isThere);
    // A later request has been answered by now.
    await fetch(`${receiver.url}/healthz`);
    expect(answered).toBe(false);
    held.accept();
    expect(await answer).toBe(204);
  });

  it('answers 204 if the job is over or never existed, so that the callback is not repeated', async () => {
    temporal = () => Promise.resolve('jobOver');
    await start();
    expect(await post(newUrl())).toBe(204);
  });

  describe('when the submit waits in the same process', () => {
    const comes = (nonce: string, ms: number, signal = new AbortController().signal) =>
      receiver.comes({ workflowId, nonce }, ms, signal);

    it('ends its wait, and sends no signal', async () => {
      await start();
      const nonce = randomUUID();
      const waiting = comes(nonce, 60_000);
      expect([await post(newUrl({ nonce })), await waiting, signals]).toEqual([204, true, []]);
    });

    it('does not let it wait for a callback that has just arrived and was signalled', async () => {
      await start();
      const nonce = randomUUID();
      await post(newUrl({ nonce }), JSON.stringify({ entity: { id: taskId } }));
      expect([await comes(nonce, 60_000), signals.length]).toEqual([true, 1]);
    });

    it('sends a signal for callbacks of other submits, and after the wait', async () => {
      await start();
      const nonce = randomUUID();
      const waiting = comes(nonce, 300);
      await post(newUrl());
      expect(await waiting).toBe(false);
      await post(newUrl({ nonce }));
      await expect(comes(randomUUID(), 60_000, AbortSignal.abort(new Error('the worker ends')))).rejects.toThrow();
      expect(signals).toHaveLength(2);
    });
  });

  describe('passes on a task id', () => {
    const taken: [string, unknown][] = [
      ['at entity.id', { entity: { id: taskId } }],
      ['at entity.id, in capitals', { entity: { id: taskId.toUpperCase(), status: 'completed' }, result: 7 }],
      ['at result.output.connector', { result: { output: { connector: taskId, status: 'successful' } } }],
      ['at the connector beside an entity without one', { entity: [], result: { output: { connector: taskId } } }],
    ];
    it.each(taken)('%s', async (_where, body) => {
      await start();
      expect(await post(newUrl(), JSON.stringify(body), { 'content-type': 'application/json' })).toBe(204);
      expect(signals[0]?.arrival.taskId).toBe(taskId);
    });

    const left: [string, string | Buffer][] = [
      ['of another shape', JSON.stringify({ entity: { id: `${taskId}/../x` } })],
      ['that is no text', JSON.stringify({ entity: { id: { $ne: 1 } } })],
      ['elsewhere', JSON.stringify({ id: taskId, data: { entity: { id: taskId } } })],
      ['in JSON that is cut off', `{"entity":{"id":"${taskId}"}`],
      ['under a hundred thousand brackets', '['.repeat(100_000)],
      ['in bytes that are no text', Buffer.from([0xff, 0xfe, 0x00, 0x80])],
      ['in nothing', ''],
    ];
    it.each(left)('but none %s', async (_where, body) => {
      await start();
      expect([await post(newUrl(), body), signals.length]).toEqual([204, 1]);
      expect(signals[0]?.arrival).not.toHaveProperty('taskId');
    });
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'nonsense'])(
    'accepts a body of type %s',
    async (type) => {
      await start();
      expect(await post(newUrl(), 'a=b', { 'content-type': type })).toBe(204);
    },
  );

  it('rejects a URL that is forged, truncated or signed with another key, and wakes no job', async () => {
    await start();
    const url = newUrl();
    const forged = [
      `${url.slice(0, -1)}${url.endsWith('A') ? 'E' : 'A'}`,
      url.slice(0, -5),
      url.slice(0, url.lastIndexOf('.')),
      url.replace(/\/[^/.]+\.([^/]*)$/, `/${Buffer.from('another/job').toString('base64url')}.$1`),
      newUrl({ key: parseCallbackKeys('another-key-0123456789-0123456789-abcd').current }),
    ];
    for (const each of forged) expect(await post(each)).toBe(401);
    expect(signals).toEqual([]);
    expect(await post(newUrl({ key: keys.previous }))).toBe(204);
  });

  it('rejects a forged callback before it reads the body', async () => {
    await start();
    const socket = connect(Number(new URL(receiver.url).port), '127.0.0.1');
    socket.write('POST /a.b.c HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n{');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 [^]*connection: close/);
    socket.destroy();
  });

  it('answers 404 for other paths and 405 for other methods', async () => {
    await start();
    for (const path of ['', '/', '/callbacks', '/x/a.b.c', '/%zz', '/favicon', '//']) {
      expect(await post(`${receiver.url}${path}`)).toBe(404);
    }
    const url = newUrl();
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND']) {
      const response = await fetch(url, { method });
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'POST']);
    }
    expect([(await fetch(url, { method: 'HEAD' })).status, signals]).toEqual([405, []]);
  });

  it('answers 413 for more than 1 MiB, with or without a length, and accepts 1 MiB', async () => {
    await start();
    const large = Buffer.alloc(2 * 1024 ** 2, 'x');
    expect(await post(newUrl(), large)).toBe(413);
    const chunked = new ReadableStream({
      start(controller) {
        for (let sent = 0; sent < 32; sent += 1) controller.enqueue(large.subarray(0, 65_536));
        controller.close();
      },
    });
    const status = await fetch(newUrl(), { method: 'POST', body: chunked, duplex: 'half' }).then(
      (response) => response.status,
      () => 413, // The connection may be cut before the rest is sent.
    );
    expect([status, signals]).toEqual([413, []]);
    expect(await post(newUrl(), large.subarray(0, 1024 ** 2))).toBe(204);
  });

  it('cuts off slow senders, and serves others meanwhile', async () => {
    await start({ requestTimeoutMs: 500 });
    const { port } = new URL(receiver.url);
    const path = new URL(newUrl()).pathname;
    const openings = [
      `POST ${path} HTTP/1.1\r\nhost: x\r\n`,
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n`,
    ];
    const startedAt = performance.now();
    const slow = openings.map((opening) => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.resume();
      socket.write(opening);
      const drip = setInterval(() => socket.write('x'), 50);
      return once(socket, 'close').finally(() => clearInterval(drip));
    });
    expect(await post(newUrl())).toBe(204);
    await Promise.all(slow);
    // Node's default would take a minute.
    expect(performance.now() - startedAt).toBeLessThan(50_000);
    expect(signals).toHaveLength(1);
  });

  it('sends one signal for a hundred concurrent duplicates, and answers each of them', async () => {
    const held = holdSignals();
    let inFlight = () => 0;
    const metrics = {
      answered: () => undefined,
      signalled: () => undefined,
      watch: (count: () => number) => (inFlight = count),
    };
    await start({ requestTimeoutMs: 120_000, metrics });
    const url = newUrl();
    const answers = Array.from({ length: 100 }, () => post(url));
    await until('all have arrived', () => inFlight() === 100);
    held.accept();
    expect([new Set(await Promise.all(answers)), signals.length]).toEqual([new Set([204]), 1]);
  });

  it('signals again for a duplicate that names the task if the first did not', async () => {
    await start();
    const url = newUrl();
    await post(url);
    await post(url, JSON.stringify({ entity: { id: taskId } }));
    await post(url, JSON.stringify({ entity: { id: taskId } }));
    expect(signals.map(({ arrival }) => arrival.taskId)).toEqual([undefined, taskId]);
  });

  it('answers 429 above its limit of requests in flight, and continues when those are done', async () => {
    const held = holdSignals();
    await start({ maxInFlight: 3 });
    const url = newUrl();
    const waiting = [post(url), post(url), post(url)];
    await until('three under way', async () => {
      const response = await fetch(newUrl(), { method: 'POST', body: 'x' });
      return response.status === 429 && response.headers.get('retry-after') === '1';
    });
    held.accept();
    expect(await Promise.all(waiting)).toEqual([204, 204, 204]);
    await until('room again', async () => (await post(newUrl())) === 204);
  });

  it('answers 503 while Temporal is unreachable, logs it once, and accepts the same callback afterwards', async () => {
    await start();
    const url = newUrl();
    temporal = () => Promise.reject(new Error(`failed at ${url} with ${keyText}`));
    expect(await Promise.all([post(url), post(url), post(url)])).toEqual([503, 503, 503]);
    expect(logged).toEqual(["Temporal did not accept a callback's signal (Error); answered with 503."]);
    temporal = () => Promise.resolve('accepted');
    expect(await post(url)).toBe(204);
  });

  it('logs no URL, nonce, body or key, whatever comes', async () => {
    temporal = () => Promise.reject(new Error('no'));
    await start();
    const nonce = randomUUID();
    const url = newUrl({ nonce });
    await post(url, 'secret-body');
    await post(url.slice(0, -3), 'secret-body');
    await post(`${receiver.url}/%zz${nonce}`, 'secret-body');
    await post(url, Buffer.alloc(2 * 1024 ** 2, 's'));
    const text = logged.join('\n');
    expect(text).not.toBe('');
    for (const secret of [nonce, 'secret-body', keyText, olderKeyText, 'http', url.slice(-43)]) {
      expect(text).not.toContain(secret);
    }
  });

  it('works behind proxies that keep its path prefix and behind those that remove it', async () => {
    await start({ pathPrefix: '/hooks/conversion/' });
    expect(await post(newUrl({ base: `${receiver.url}/hooks/conversion` }))).toBe(204);
    expect([await post(newUrl()), await post(newUrl({ base: `${receiver.url}/hooks` }))]).toEqual([204, 404]);
    expect((await fetch(`${receiver.url}/hooks/conversion/healthz`)).status).toBe(200);
  });

  it('accepts the longest workflow ids that Temporal accepts, and reports its health', async () => {
    await start();
    const id = 'ü'.repeat(500);
    expect(await post(newUrl({ id }))).toBe(204);
    expect(signals[0]?.workflowId).toBe(id);
    const response = await fetch(`${receiver.url}/healthz`);
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
    expect((await fetch(`${receiver.url}/healthz`, { method: 'POST' })).status).toBe(405);
  });

  it.each([
    ['nothing', () => ''],
    ['half of its head', () => 'POST /x HTTP/1.1\r\n'],
    ['half of its body', () => `POST ${new URL(newUrl()).pathname} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{`],
  ])(
    'can be closed although a connection sends %s',
    async (_what, textOf) => {
      await start({ requestTimeoutMs: 300 });
      const socket = connect(Number(new URL(receiver.url).port), '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(textOf());
      await fetch(`${receiver.url}/healthz`, { headers: { connection: 'close' } });
      await receiver.close();
      socket.destroy();
    },
    5_000,
  );

  it('finishes what is in flight before it closes, and accepts nothing new', async () => {
    const held = holdSignals();
    await start();
    const { port, pathname } = new URL(newUrl());
    const begun = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    begun.write(`POST ${pathname} HTTP/1.1\r\nhost: x\r\n`);
    const answer = post(newUrl());
    await until('the signal', held.isThere);
    const closed = receiver.close();
    const told = once(begun.resume(), 'close');
    begun.write('content-length: 2\r\n\r\n{}');
    await told;
    // New connections are not accepted.
    expect(await post(newUrl()).catch(() => 503)).toBe(503);
    held.accept();
    expect([await answer, signals.length]).toEqual([204, 1]);
    await closed;
  });
});
