import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeAll, connectTo, failureOf, readAll, sendJson, serve, serveTcp } from './loopback';

afterEach(closeAll);

const timeouts = { connectMs: 1_000, headersMs: 200, bodyMs: 200, stallMs: 200 };
const stepMs = 40;

/** Sends one byte at a time, so that no pause between bytes is long. */
async function drip(
  response: ServerResponse,
  text: string,
  { status = 200, type = 'application/json' }: { status?: number; type?: string } = {},
): Promise<void> {
  response.writeHead(status, { 'content-type': type });
  for (const byte of text) {
    if (response.destroyed) return;
    response.write(byte);
    await sleep(stepMs);
  }
  response.end();
}

const long = JSON.stringify({ result: { output: { connector: 'c', filler: 'x'.repeat(200) } } });

const dripping = (status = 200) => serve((response) => void drip(response, long, { status }));

const upload = { name: 'a.md', size: 1, open: () => oneByte() };

async function* oneByte(): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from('x'));
}

describe('an answer that comes one byte at a time', () => {
  it('to a request without a file times out, and the request may have been executed', async () => {
    const { baseUrl } = await dripping();
    const error = await failureOf(connectTo(baseUrl, timeouts).convertFile({ connector: 'c', output: 'pdf' }));
    expect(error).toMatchObject({ code: 'REQUEST_TIMEOUT', mayHaveExecuted: true });
    expect(error.message).toMatch(/^v1\/convert\/file: .*not complete within 1\.\d s/);
  });

  it("ends by the caller's deadline", async () => {
    const { baseUrl } = await dripping();
    const turn = { answerByMs: performance.now() + 300 };
    const error = await failureOf(connectTo(baseUrl).convertFile({ connector: 'c', output: 'pdf', turn }));
    expect(error).toMatchObject({ code: 'REQUEST_TIMEOUT', mayHaveExecuted: true });
  });

  it('to an upload times out', async () => {
    const error = await failureOf(connectTo((await dripping()).baseUrl, timeouts).uploadFile({ file: upload }));
    expect(error).toMatchObject({ code: 'REQUEST_TIMEOUT', mayHaveExecuted: true });
  });

  it('that refuses a download times out', async () => {
    const { baseUrl } = await dripping(404);
    const error = await failureOf(connectTo(baseUrl, timeouts).download({ ticket: { connector: 'c' } }));
    expect(error).toMatchObject({ httpStatus: 404 });
  });

  it('may take as long as it keeps coming if it is a file', async () => {
    const { baseUrl } = await serve((response) => void drip(response, 'x'.repeat(20), { type: 'text/plain' }));
    const { body } = await connectTo(baseUrl, timeouts).download({ ticket: { connector: 'c' } });
    expect(await readAll(body)).toHaveLength(20);
  });
});

it('interim answers do not keep a request alive for ever', async () => {
  const baseUrl = await serveTcp((socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), stepMs);
    socket.once('close', () => clearInterval(timer));
  });
  const error = await failureOf(connectTo(baseUrl, timeouts).taskResponse({ connector: 'c' }));
  expect(error).toMatchObject({ code: 'REQUEST_TIMEOUT', mayHaveExecuted: true });
});

it("the answer of a sync conversion may take until the caller's deadline", async () => {
  const { baseUrl } = await serve((response) => {
    const entity = { id: 't', status: 'completed' };
    setTimeout(() => sendJson(response, { entity, result: { output: { connector: 't', status: 'successful' } } }), 800);
  });
  const turn = { answerByMs: performance.now() + 10_000 };
  const snapshot = await connectTo(baseUrl, timeouts).convertFile({
    connector: 'c',
    output: 'pdf',
    mode: 'sync',
    turn,
  });
  expect(snapshot.status).toBe('completed');
});
