import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createCallbackApp, startReceiver } from '../callbacks/receiver';
import { createApp, createDataDir, parseAnswer, startTestService, TestClient, tinyPng } from '../support';

/** A refused request is a task too, completed with an error, and its `include` applies. */

const limits = { upload: 0, submit: 0, poll: 1, info: 0, download: 0 };
const free = createCallbackApp();
const apps = {
  FREE_PLAN_DISALLOWED: { ...free, app: { ...free.app, plan: 'free' as const } },
  TOO_MANY_REQUESTS: ((app) => ({
    ...app,
    app: { ...app.app, name: 'busy', rateLimits: { windowSeconds: 600, ...limits } },
  }))(createCallbackApp()),
};
const asking = createApp('asking');
const include = ['entity', 'payload', 'result'];

let running: Awaited<ReturnType<typeof startTestService>>;
let receiver: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => {
  receiver = await startReceiver();
  running = await startTestService({ apps: [...Object.values(apps).map(({ app }) => app), asking.app] }, asking);
});

afterAll(async () => {
  await running.stop();
  await receiver.close();
});

describe.each(Object.entries(apps))('an app refused with %s', (code, app) => {
  const status = code === 'TOO_MANY_REQUESTS' ? 429 : 403;
  const clientOf = () => new TestClient(running.client.url, app);

  it.each([
    ['format/get', { parameters: { nonsense: 5 } }, undefined],
    ['upload/file', {}, { name: 'dot.png', data: tinyPng }],
  ])('gets the task of %s as selected by its include', async (endpoint, data, file) => {
    const answer = await clientOf().post(endpoint, { ...data, include }, file);
    expect([answer.status, answer.error.code]).toEqual([status, code]);
    expect(answer.body.entity).toMatchObject({ endpoint: `v1/${endpoint}`, status: 'completed' });
    expect(answer.body.payload).toEqual({ app: app.app.appId, ...data, include });
    expect(running.service.isUsable()).toBe(true);
  });

  it('is called back', async () => {
    const before = receiver.received.length;
    const data = { parameters: { format: 'pdf' }, callback: `${receiver.url}${code}` };
    await clientOf().post('format/get', data);
    expect((await receiver.count(before + 1)).at(-1)).toMatchObject({
      path: `/${code}`,
      body: expect.stringContaining(`"code":"${code}"`) as string,
    });
  });

  it('gets the same answer if its request is malformed', async () => {
    const answer = await parseAnswer(await clientOf().send('format/get', { body: new URLSearchParams({ data: '{' }) }));
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });
});

describe('a refusal', () => {
  it('with status 200 has its code in the result, or at the top level if there is no result', async () => {
    const file = { name: 'empty.png', data: '' };
    const plain = await running.client.post('upload/file', {}, file);
    expect([plain.status, plain.error.code, plain.body.code]).toEqual([200, 'EMPTY_FILE', undefined]);
    const bare = await running.client.post('upload/file', { include: [] }, file);
    expect([bare.status, bare.body.result, bare.body.code]).toEqual([200, undefined, 'EMPTY_FILE']);
  });

  it('of include itself uses the default include', async () => {
    const answer = await running.client.post('task/response', {
      connector: crypto.randomUUID(),
      include: ['entity', 5],
    });
    expect([answer.error.code, answer.body.entity]).toEqual(['WRONG_TYPE_DATA_KEY', undefined]);
  });

  it('of a failed sync conversion is at the top level if include leaves the result out', async () => {
    const connector = await running.client.upload('cut.png', tinyPng.subarray(0, 40));
    const data = { connector, include: ['entity'], parameters: { output: 'webp' } };
    const { status, body } = await running.client.post('convert/file', data);
    expect([status, body.result, body.code]).toEqual([200, undefined, 'FAILED_CONVERT']);
    expect(body.entity?.status).toBe('completed');
  });
});

it('keeps monitoring, format and refused tasks, and a task with its connector in capitals, over a restart', async () => {
  const dataDir = await createDataDir();
  const app = createApp('kept');
  const first = await startTestService({ dataDir }, app);
  const asked = async (endpoint: string, data: Record<string, unknown>) =>
    (await first.client.post(endpoint, { ...data, include: ['entity'] })).body.entity;
  const uploaded = await first.client.upload('dot.PNG', tinyPng);
  const entities = [
    await asked('task/response', { connector: uploaded.toUpperCase() }),
    await asked('format/get', { parameters: { format: 'pdf' } }),
    await asked('convert/file', { connector: uploaded, parameters: { output: 'nonsense' } }),
  ];
  await first.service.close();
  const second = await startTestService({ dataDir }, app);
  for (const entity of entities) {
    expect((await second.client.post('task/response', { connector: entity?.id })).output.entity).toEqual(entity);
  }
  await second.stop();
});

it('does not count refused conversions in the daily limit', async () => {
  const dataDir = await createDataDir();
  await writeFile(path.join(dataDir, 'accounts.toml'), '[free_app]\nenabled = true\ndaily_conversions = 1\n');
  const { service, stop } = await startTestService({ dataDir });
  const free = new TestClient(service.url, {
    app: { name: 'free', appId: 'free', tokenSha256: '' },
    token: 'FREE-TOKEN',
  });
  const connector = await free.upload('dot.png', tinyPng);
  const convert = (output: string) =>
    free.post('convert/file', { connector, include: ['entity'], parameters: { output } });
  expect((await convert('nonsense')).body.code).toBe('INVALID_OUTPUT_FORMAT');
  expect((await convert('webp')).body.code).toBeUndefined();
  expect((await convert('webp')).body.code).toBe('FREE_APP_LIMITED');
  await stop();
});

it('counts a request to no endpoint in the window of its app, as its headers show', async () => {
  const send = async (pathname: string, method: string) => {
    const response = await fetch(`${running.client.url}/${pathname}`, { method, headers: running.client.headers });
    return [response.status, response.headers.get('x-ratelimit-limit')];
  };
  expect(await send('v1/nothing', 'POST')).toEqual([404, '1000000']);
  expect(await send('v1/upload/file', 'GET')).toEqual([405, '100000']);
});

it('records a server error as a task', async () => {
  const { client, stop } = await startTestService({ maxStoredBytes: 1 });
  const { status, body } = await client.post('upload/file', { include }, { name: 'dot.png', data: tinyPng });
  expect([status, body.code]).toEqual([500, 'INTERNAL_SERVER_ERROR']);
  expect((await client.post('task/response', { connector: body.entity?.id })).output.entity).toEqual(body.entity);
  await stop();
});
