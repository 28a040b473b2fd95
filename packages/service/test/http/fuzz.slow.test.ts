import { isObject } from 'temporal-file-conversion/contract';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import fc from 'fast-check';
import { request as send } from 'undici';
import { lookUpErrorCode } from '../../../../src/contract/error-codes';
import { Reply } from '../../../conformance/src/reply';
import { serviceOfAllTests, tinyPng } from '../support';
import { type Known, rawBytes, type RawRequest, rawRequests } from './arbitrary-requests';

/** Whatever is sent, the service answers in the documented form, never fails, and keeps serving. */

/** `npm run fuzz` runs more. */
const runs = Number(process.env['FUZZ_RUNS'] ?? 200);

const running = serviceOfAllTests();
let known: Known;

beforeAll(async () => {
  const { client } = running;
  const upload = await client.upload('dot.png', tinyPng);
  const { output } = await client.post('convert/file', { connector: upload, parameters: { output: 'webp' } });
  const converted = output.connector ?? '';
  const link = (await client.post('download/url', { connector: converted })).output.connector ?? '';
  known = { appId: client.app.appId, token: client.token, connectors: [upload, converted, link] };
});

afterEach(async () => {
  expect((await running.client.post('convert/formats', { parameters: { sublist: 'inputs' } })).error).toEqual({});
  expect(running.logged.filter((line) => line.includes(' failed: '))).toEqual([]);
});

async function ask({ path, headers, body }: RawRequest): Promise<Reply> {
  const answer = await send(running.service.url + path, {
    method: 'POST',
    headers: Object.fromEntries(headers),
    body,
    headersTimeout: 20_000,
    bodyTimeout: 20_000,
  });
  return new Reply(answer.statusCode, answer.headers, Buffer.from(await answer.body.arrayBuffer()));
}

it('answers any request in the documented form, and never with a server error', async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(rawRequests(known), async (request) => {
      const reply = await ask(request);
      const { errorCode } = reply;
      seen.set(errorCode ?? 'accepted', (seen.get(errorCode ?? 'accepted') ?? 0) + 1);
      expect(reply.status).toBeLessThan(500);
      if (errorCode === undefined && request.path === '/v1/download/url/get') return;
      // An `include` that selects nothing gives an empty object.
      expect(isObject(reply.json)).toBe(true);
      if (errorCode !== undefined) expect(lookUpErrorCode(errorCode)?.httpStatus).toBe(reply.status);
    }),
    { numRuns: runs },
  );
  // Output of `npm run fuzz`; it also shows that requests got past the first check.
  if (runs > 200) console.log(JSON.stringify(Object.fromEntries([...seen].sort())));
  expect(seen.get('accepted')).toBeGreaterThan(0);
});

it('survives bytes that are not a complete request', async () =>
  await fc.assert(
    fc.asyncProperty(rawBytes(known), async (bytes) => {
      const socket = createConnection({ port: running.service.port, host: '127.0.0.1' });
      socket.on('error', () => undefined);
      const closed = once(socket, 'close');
      socket.on('data', (data) => expect(data.toString('latin1')).not.toMatch(/^HTTP\/1\.1 5/));
      socket.end(bytes);
      await closed;
    }),
    { numRuns: Math.ceil(runs / 3) },
  ));
