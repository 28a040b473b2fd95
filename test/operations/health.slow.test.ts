import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { freePort } from '../../packages/cli/src/dev-server';
import { fileconv, linesOf, newFolder, startProcess, type RunningProcess } from '../../packages/cli/test/fileconv';
import { parseCallbackKeys, createCallbackUrl } from '../../src/callbacks/callback-url';
import { stubAppId, stubToken } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { startTemporalProxy, type Refusal, type TemporalProxy } from '../support/temporal-proxy';
import { until } from '../support/until';

/** Worker, receiver and service as processes with health endpoints, behind a proxy to Temporal. */

const parts = ['worker', 'callbacks', 'service'] as const;
type Part = (typeof parts)[number];

const callbackKey = 'health-callback-key-0123456789-abcdef';
const refused: Record<string, Refusal> = {};
const health = {} as Record<Part, string>;
const running = {} as Record<Part, RunningProcess>;
const urls = { callbacks: '', service: '' };
let proxy: TemporalProxy;

beforeAll(async () => {
  proxy = await startTemporalProxy(testTemporalAddress(), refused);
  const cwd = await newFolder();
  const env: Record<string, string> = {
    TEMPORAL_ADDRESS: proxy.address,
    FILECONV_WORKER_TASK_QUEUE: `health-${randomUUID()}`,
    FILECONV_APPS_STUB_BASE_URL: 'http://127.0.0.1:1',
    FILECONV_APPS_STUB_APP_ID: stubAppId,
    FILECONV_APPS_STUB_TOKEN: stubToken,
    FILECONV_CALLBACKS_PORT: '0',
    FILECONV_CALLBACKS_KEY_ENV: 'TEST_CALLBACK_KEY',
    TEST_CALLBACK_KEY: callbackKey,
    FILECONV_SERVICE_PORT: '0',
  };
  for (const part of parts) {
    const address = `127.0.0.1:${await freePort()}`;
    health[part] = `http://${address}`;
    env[`FILECONV_${part.toUpperCase()}_HEALTH_ADDRESS`] = address;
  }
  for (const part of parts) running[part] = startProcess([part, '--json'], { cwd, env, timeoutMs: 300_000 });
  urls.callbacks = ((await running.callbacks.untilJson()) as { url: string }).url;
  urls.service = ((await running.service.untilJson()) as { url: string }).url;
  await running.worker.untilJson();
});

afterAll(async () => {
  for (const { child, ended } of Object.values(running)) {
    child.kill('SIGKILL');
    await ended;
  }
  await proxy.close();
});

async function ask(part: Part, path: 'healthz' | 'readyz'): Promise<{ status: number; because?: string }> {
  const answer = await fetch(`${health[part]}/${path}`);
  const { because } = (await answer.json()) as { because?: string };
  return { status: answer.status, ...(because !== undefined && { because }) };
}

const isReady = (part: Part) => async () => (await ask(part, 'readyz')).status === 200;

describe.each(parts)('fileconv %s', (part) => {
  it('is alive and ready while it is running', async () => {
    await until(`${part} is ready`, isReady(part));
    expect(await ask(part, 'healthz')).toEqual({ status: 200 });
  });

  it('does not start if its health address is taken, and says which key to change', async () => {
    const variable = `FILECONV_${part.toUpperCase()}_HEALTH_ADDRESS`;
    const { host } = new URL(health[part]);
    const env = { [variable]: host, TEMPORAL_ADDRESS: testTemporalAddress() };
    const { code, stderr } = await fileconv([part], { cwd: await newFolder(), env });
    expect(code).toBe(1);
    expect(linesOf(stderr)).toEqual([
      `error: Something else is listening on ${host}. Give this process another address (${variable}), or leave ${part}.health_address out.`,
    ]);
  });
});

it('worker and callbacks stay alive but are not ready while Temporal does not answer; the service does not need it', async () => {
  refused['GetSystemInfo'] = { status: 14, message: 'down' };
  const needing = ['worker', 'callbacks'] as const;
  await Promise.all(needing.map((part) => until(`${part} misses Temporal`, async () => !(await isReady(part)()))));
  for (const part of needing) {
    expect(await ask(part, 'readyz')).toEqual({ status: 503, because: "Temporal can't be reached" });
    expect(await ask(part, 'healthz')).toEqual({ status: 200 });
  }
  expect(await ask('service', 'readyz')).toEqual({ status: 200 });
  delete refused['GetSystemInfo'];
  await Promise.all(needing.map((part) => until(`${part} is ready again`, isReady(part))));
});

it.each([
  [
    'callbacks',
    () => createCallbackUrl(urls.callbacks, { workflowId: 'a', nonce: 'n' }, parseCallbackKeys(callbackKey).current),
  ],
  ['service', () => `${urls.service}/v1/format/get`],
] as const)('fileconv %s is not ready while it finishes requests in flight, and exits with 0', async (part, url) => {
  const request = await beginRequest(url());
  running[part].child.kill('SIGTERM');
  await until(`${part} drains`, async () => !(await isReady(part)()));
  expect(await ask(part, 'readyz')).toEqual({ status: 503, because: 'it is draining' });
  expect(await ask(part, 'healthz')).toEqual({ status: 200 });
  request.destroy();
  expect(await running[part].ended).toMatchObject({ code: 0, signal: null });
});

/** Starts a request whose body does not end. */
async function beginRequest(url: string): Promise<Socket> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const type = 'content-type: application/x-www-form-urlencoded';
  socket.write(
    `POST ${pathname} HTTP/1.1\r\nhost: x\r\n${type}\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n`,
  );
  // This answer proves that the server has begun with the request.
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 100/);
  return socket;
}
