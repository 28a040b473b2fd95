import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { defaultPayloadConverter } from '@temporalio/common';
import { startCodecServer, type CodecServer, type CodecServerOptions } from '../src/keys/codec-server';
import { EncryptionCodec, parseEncryptionKeys } from '../../../src/encryption/encryption-codec';
import { writePayloads } from '../../../src/encryption/payload-json';

const codec = new EncryptionCodec(parseEncryptionKeys(`now:${randomBytes(32).toString('base64')}`));
const ui = 'https://temporal.example.com';
const plain = writePayloads([defaultPayloadConverter.toPayload('report.docx')]);
const log: string[] = [];
let server: CodecServer;

async function start(options: Partial<CodecServerOptions> = {}): Promise<void> {
  server = await startCodecServer({ codec, uiOrigins: () => [ui], log: (line) => log.push(line), ...options });
}

afterEach(async () => {
  log.length = 0;
  await server.close();
});

function ask(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(server.url + path, {
    method: 'POST',
    body: text,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

it('encrypts and decrypts with the protocol of the Temporal UI', async () => {
  await start();
  const encoded = (await (await ask('/encode', plain)).json()) as typeof plain;
  expect(Buffer.from(encoded.payloads[0]?.metadata['encoding'] ?? '', 'base64').toString()).toBe('binary/encrypted');
  expect(JSON.stringify(encoded)).not.toContain(Buffer.from('report.docx').toString('base64').slice(0, 8));
  expect(await (await ask('/decode', encoded)).json()).toEqual(plain);
  expect(await (await ask('/decode', plain)).json()).toEqual(plain);
});

it('allows requests from pages of the UI, with its headers and cookies', async () => {
  await start();
  const preflight = await fetch(`${server.url}/decode`, {
    method: 'OPTIONS',
    headers: {
      origin: ui,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-namespace',
    },
  });
  expect(preflight.status).toBe(204);
  const allowed = Object.fromEntries(preflight.headers);
  expect(allowed).toMatchObject({
    'access-control-allow-origin': ui,
    'access-control-allow-methods': 'POST',
    'access-control-allow-credentials': 'true',
  });
  expect(allowed['access-control-allow-headers']).toMatch(/authorization, ?content-type, ?x-namespace/);
  const answer = await ask('/decode', plain, { origin: ui, 'x-namespace': 'default' });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('access-control-allow-origin')).toBe(ui);
});

it('refuses pages of any other origin, also under a name that resolves to this machine', async () => {
  await start();
  for (const origin of ['https://evil.example', `${ui}.evil.example`, server.url, 'null']) {
    const answer = await ask('/decode', plain, { origin });
    expect(answer.status).toBe(403);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  }
});

it('accepts a local UI as localhost and 127.0.0.1, but on no other port', async () => {
  await start({ uiOrigins: () => ['http://127.0.0.1:8233'] });
  const statuses = ['http://127.0.0.1:8233', 'http://localhost:8233', 'http://localhost:8234'].map(
    async (origin) => (await ask('/decode', plain, { origin })).status,
  );
  expect(await Promise.all(statuses)).toEqual([200, 200, 403]);
});

it('requires the token if one is set, except for the health check', async () => {
  await start({ token: 'codec-token-4711' });
  const statusWith = async (authorization: string) => (await ask('/decode', plain, { authorization })).status;
  expect(await statusWith('Bearer codec-token-4711')).toBe(200);
  expect(await statusWith('Bearer codec-token-4712')).toBe(401);
  expect((await ask('/decode', plain)).status).toBe(401);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});

it('names the missing key in its answer and in its log', async () => {
  await start();
  const other = new EncryptionCodec(parseEncryptionKeys(`before:${randomBytes(32).toString('base64')}`));
  const written = writePayloads(await other.encode([defaultPayloadConverter.toPayload('report.docx')]));
  const answer = await ask('/decode', written);
  expect(answer.status).toBe(400);
  const { message } = (await answer.json()) as { message: string };
  expect(message).toMatch(
    /^This payload was encrypted with the key before, .* add the line that begins with "before:"/,
  );
  expect(log).toEqual([message]);
  // When it can decrypt another payload of the request, only the log names the missing key.
  const [own] = writePayloads(await codec.encode([defaultPayloadConverter.toPayload('report.docx')])).payloads;
  const page = { payloads: [...written.payloads, own] };
  expect(await (await ask('/decode', page)).json()).toEqual({ payloads: [...written.payloads, ...plain.payloads] });
  expect(log).toEqual([message, message]);
});

it.each([
  ['no JSON', '{"payloads": [se', 400],
  ['no payloads', { payload: 'secret' }, 400],
  ['data that is no base64', { payloads: [{ data: 'secret!' }] }, 400],
  ['more than it takes', `{"payloads": "${'s'.repeat(33 * 1024 * 1024)}"}`, 413],
])('refuses %s and repeats none of it', async (_what, body, status) => {
  await start();
  const answer = await ask('/decode', body);
  expect(answer.status).toBe(status);
  const text = await answer.text();
  expect(text).toContain('"message"');
  expect(text).not.toMatch(/secret|\bse\b|sss/);
});

it('ends although an open browser connection sends nothing', async () => {
  await start();
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  expect((await fetch(`${server.url}/healthz`, { headers: { connection: 'close' } })).status).toBe(200);
  await server.close();
  socket.destroy();
}, 5_000);
