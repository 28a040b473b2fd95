import { randomUUID } from 'node:crypto';
import { createCallbackApp, startReceiver } from '../callbacks/receiver';
import { anyTime, createApp, monitoredResultSchema, startTestService, type TestClient, tinyPng } from '../support';

/** What a refused request is told, and where: `include` counts for a refusal as for any other task. */

let running: Awaited<ReturnType<typeof startTestService>>;
let client: TestClient;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
const other = createApp('other');

beforeAll(async () => {
  receiver = await startReceiver();
  const own = createCallbackApp();
  running = await startTestService({ apps: [own.app, other.app] }, own);
  client = running.client;
});

afterAll(async () => {
  await running.stop();
  await receiver.close();
});

const unknownConnector = '00000000-0000-4000-8000-000000000000';

describe('a value of the wrong type', () => {
  const parameters = { output: 'pdf' };
  it.each([
    ['convert/file', { mode: 'SYNC', parameters }, 'WRONG_VALUE_DATA_KEY', 'mode'],
    ['convert/file', { include: ['entity', null], parameters }, 'WRONG_TYPE_DATA_KEY', 'include'],
    ['convert/file', { include: ['entity', 'all'], parameters }, 'WRONG_VALUE_DATA_KEY', 'include'],
    ['convert/file', { include: null, parameters }, 'WRONG_TYPE_DATA_KEY', 'include'],
    ['convert/file', { callback: null, parameters }, 'WRONG_TYPE_DATA_KEY', 'callback'],
    ['convert/formats', { connector: undefined, parameters: { sublist: 'all' } }, 'WRONG_VALUE_PARAMETER', 'sublist'],
  ])('is told from a wrong value: %s with %j is %s [%s]', async (endpoint, data, code, name) => {
    const { status, error } = await client.post(endpoint, { connector: unknownConnector, ...data });
    expect([status, error.code]).toEqual([400, code]);
    expect(error.message).toContain(` ${name} `);
  });
});

describe('a refusal', () => {
  const wrong: [string, Record<string, unknown>, string][] = [
    ['data that is not valid', { mode: 5, parameters: { output: 'pdf' } }, 'WRONG_TYPE_DATA_KEY'],
    ['a parameter that is missing', { parameters: {} }, 'MISSING_REQUIRED_PARAMETER'],
    ['the App ID of another app', { app: other.app.appId, parameters: { output: 'pdf' } }, 'INVALID_CREDENTIAL'],
    ['a connector of nobody', { parameters: { output: 'pdf' } }, 'NO_CONNECTOR_DEPENDENT_TASK'],
  ];

  it.each(wrong)('for %s is a task with an entity, when include asks for one', async (_why, data, code) => {
    const answer = await client.post('convert/file', { connector: unknownConnector, ...data, include: ['entity'] });
    expect(Object.keys(answer.body).sort()).toEqual(['code', 'entity', 'message']);
    expect(answer.body.entity).toMatchObject({
      endpoint: 'v1/convert/file',
      status: 'completed',
      completed_at: anyTime,
    });
    expect(answer.body.code).toBe(code);
    const { output } = await client.post('task/response', { connector: answer.body.entity?.id });
    expect(monitoredResultSchema.parse(output.result).error).toEqual({ code, message: answer.body.message });
    expect(output.payload).toMatchObject(data);
    const dependent = await client.post('download/url', { connector: answer.body.entity?.id });
    expect(dependent.error.code).toBe('NOT_READY_DEPENDENT_TASK');
  });

  it.each(wrong)('for %s gives back the payload, when include asks for it', async (_why, data, code) => {
    const answer = await client.post('convert/file', { connector: unknownConnector, ...data, include: ['payload'] });
    expect(Object.keys(answer.body).sort()).toEqual(['code', 'message', 'payload']);
    expect([answer.body.code, answer.body.payload]).toEqual([code, expect.objectContaining(data)]);
  });

  it('at 200 says its code in the result, and at the top level when there is no result', async () => {
    const file = { name: 'empty.png', data: '' };
    const plain = await client.post('upload/file', {}, file);
    expect([plain.status, plain.error.code, plain.body.code]).toEqual([200, 'EMPTY_FILE', undefined]);
    const bare = await client.post('upload/file', { include: [] }, file);
    expect([bare.status, bare.body.result, bare.body.code]).toEqual([200, undefined, 'EMPTY_FILE']);
  });

  it('of include itself takes the default', async () => {
    const answer = await client.post('task/response', { connector: unknownConnector, include: ['entity', 5] });
    expect([answer.error.code, answer.body.entity]).toEqual(['WRONG_TYPE_DATA_KEY', undefined]);
  });

  it('calls back, when its callback is in order', async () => {
    const callback = `${receiver.url}${randomUUID()}`;
    await client.post('convert/file', { callback, mode: 5, include: ['entity'], parameters: {} });
    const [received] = await receiver.count(1);
    expect(JSON.parse(received?.body ?? '')).toMatchObject({
      entity: { status: 'completed' },
      code: 'WRONG_TYPE_DATA_KEY',
    });
  });
});

describe('a conversion that fails in mode sync', () => {
  it('says so at the top level, when include leaves the result out', async () => {
    const connector = await client.upload('cut.png', tinyPng.subarray(0, 40));
    const data = { connector, include: ['entity'], parameters: { output: 'webp' } };
    const { status, body } = await client.post('convert/file', data);
    expect([status, body.result, body.code]).toEqual([200, undefined, 'FAILED_CONVERT']);
    expect(body.entity?.status).toBe('completed');
  });
});
