import { Readable } from 'node:stream';
import { closeAll, connectTo, readAll, sendJson, serve, serveRaw } from './loopback';

/** A slow reader gets more time than a silent peer. */

afterEach(closeAll);

const mebibyte = Buffer.alloc(1024 * 1024);
const file = { name: 'a.png', size: 32 * mebibyte.length, open: () => Readable.from(Array(32).fill(mebibyte)) };
const receipt = { result: { output: { connector: 'up', name: 'a.png', size: 3 } } };
const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it('an upload does not fail while the service reads slowly', async () => {
  const slow = await serveRaw((request, response) => {
    request.on('data', () => {
      request.pause();
      setTimeout(() => request.resume(), 8);
    });
    request.on('end', () => sendJson(response, receipt));
  });
  const startedAt = Date.now();
  // Bytes that the kernel still buffers for the slow reader count as waiting for the answer, not as a stall.
  await connectTo(slow, { stallMs: 2_000, headersMs: 20_000 }).uploadFile({ file });
  expect(Date.now() - startedAt).toBeGreaterThan(2_000);
});

it('an upload waits for a service that stops reading for longer than headersMs but shorter than stallMs', async () => {
  const baseUrl = await serveRaw((request, response) => {
    request.once('data', () => {
      request.pause();
      void after(3_000).then(() => request.resume());
    });
    request.on('end', () => sendJson(response, receipt));
  });
  expect(await connectTo(baseUrl, { headersMs: 2_000, stallMs: 60_000 }).uploadFile({ file })).toMatchObject({
    connector: 'up',
  });
});

it('a download does not time out because its reader is slow', async () => {
  const bytes = Buffer.alloc(8_000_000);
  const { baseUrl } = await serve((response) => response.end(bytes));
  const { body } = await connectTo(baseUrl, { bodyMs: 1_000 }).download({ ticket: { connector: 'c' } });
  await after(2_000);
  expect(await readAll(body)).toHaveLength(bytes.length);
});
