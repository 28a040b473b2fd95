import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { UploadSource } from '../../src/http/client';
import { until } from '../support/until';
import {
  appId,
  closeAll,
  closing,
  connectTo,
  failureOf,
  readForm,
  sendJson,
  serve,
  serveRaw,
  serveTcp,
} from './loopback';

afterEach(closeAll);

const receipt = { result: { output: { connector: 'up', name: 'a.png', size: 3, expires_at: '2026-03-01 12:00:00' } } };

const source = (chunks: (Buffer | Error)[], size: number, name = 'a.png'): UploadSource => ({
  name,
  size,
  open: () =>
    Readable.from(
      (function* () {
        for (const chunk of chunks) {
          if (chunk instanceof Error) throw chunk;
          yield chunk;
        }
      })(),
    ),
});

describe('uploadFile', () => {
  it('sends the field data and then the file, with a content length', async () => {
    const { baseUrl, seen } = await serve((response) => sendJson(response, receipt));
    const content = randomBytes(3_000_000);
    const file = source(
      [content.subarray(0, 10), content.subarray(10, 1_500_000), content.subarray(1_500_000)],
      3_000_000,
    );
    const answer = await connectTo(baseUrl).uploadFile({ file });

    expect(answer).toEqual({ connector: 'up', warnings: {} });
    const [request] = seen;
    expect(request).toMatchObject({ method: 'POST', url: '/v1/upload/file' });
    expect(request?.headers['content-length']).toBe(String(request?.body.length));
    expect(request?.headers['transfer-encoding']).toBeUndefined();
    const form = await readForm(request);
    expect([form.keys, form.data, form.fileName]).toEqual([['data', 'file'], { app: appId }, 'a.png']);
    expect(form.fileBytes?.equals(content)).toBe(true);
  });

  it.each([
    ['Rechnung März – „Café“.docx', 'Rechnung März – „Café“.docx'],
    ['発注書.png', '発注書.png'],
    ['say "hi".txt', 'say %22hi%22.txt'],
    ['a\r\nx-injected: 1\r\n\r\n.txt', 'a%0D%0Ax-injected: 1%0D%0A%0D%0A.txt'],
  ])('writes the file name %j as browsers do', async (name, sent) => {
    const { baseUrl, seen } = await serve((response) => sendJson(response, receipt));
    await connectTo(baseUrl).uploadFile({ file: source([Buffer.from('abc')], 3, name) });
    expect(seen[0]?.body.toString()).toContain(`name="file"; filename="${sent}"\r\n`);
    expect((await readForm(seen[0])).keys).toEqual(['data', 'file']);
  });

  it('reports its progress, up to the whole file', async () => {
    const { baseUrl } = await serve((response) => sendJson(response, receipt));
    const stepsOf = async (...sizes: number[]) => {
      const steps: number[] = [];
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      const file = source(
        sizes.map((size) => Buffer.alloc(size)),
        bytes,
      );
      await connectTo(baseUrl).uploadFile({ file, onProgress: (sent) => steps.push(sent) });
      return steps;
    };
    expect(await stepsOf(100_000, 200_000, 5)).toEqual([100_000, 300_000, 300_005]);
    // A small file is sent in one piece.
    expect(await stepsOf(10, 20, 5)).toEqual([35]);
  });

  it('opens the source again each time', async () => {
    const { baseUrl, seen } = await serve((response) => sendJson(response, receipt));
    const api = connectTo(baseUrl);
    const file = source([Buffer.from('abc')], 3);
    await api.uploadFile({ file });
    await api.uploadFile({ file });
    expect(seen).toHaveLength(2);
  });

  it.each([
    ['shrank', [Buffer.from('ab')], 'only 2 of the 3 bytes'],
    ['grew', [Buffer.from('abc'), Buffer.from('d')], 'more than the 3 bytes'],
  ])('fails when the file %s while it was sent', async (_how, chunks, words) => {
    const { baseUrl, seen } = await serve((response) => sendJson(response, receipt));
    const error = await failureOf(connectTo(baseUrl).uploadFile({ file: source(chunks, 3) }));
    expect(error).toMatchObject({ code: 'FILE_CHANGED', mayHaveExecuted: false });
    expect(error.message).toContain(words);
    // The service never got a complete request.
    expect(seen).toHaveLength(0);
  });

  it('passes a failure of the source through unchanged', async () => {
    const { baseUrl } = await serve((response) => sendJson(response, receipt));
    const broken = new Error('disk on fire');
    await expect(connectTo(baseUrl).uploadFile({ file: source([Buffer.from('a'), broken], 3) })).rejects.toBe(broken);
  });

  it('fails when the service stops reading for stallMs', async () => {
    const mebibyte = Buffer.alloc(1024 * 1024);
    const file = source(Array<Buffer>(32).fill(mebibyte), 32 * mebibyte.length);
    const stalled = await serveTcp((socket) => socket.pause());
    const error = await failureOf(connectTo(stalled, { stallMs: 200 }).uploadFile({ file }));
    expect(error).toMatchObject({ code: 'REQUEST_TIMEOUT', mayHaveExecuted: true });
    expect(error.message).toContain('no progress for 200 ms');
  });

  it('fails when the source provides no bytes for stallMs', async () => {
    const { baseUrl } = await serve((response) => sendJson(response, receipt));
    const file = { name: 'a', size: 9, open: () => new Readable({ read: () => undefined }) };
    expect((await failureOf(connectTo(baseUrl, { stallMs: 50 }).uploadFile({ file }))).code).toBe('REQUEST_TIMEOUT');
  });

  it('fails when no answer comes within headersMs of the last byte', async () => {
    const { baseUrl } = await serve(() => undefined);
    const error = await failureOf(
      connectTo(baseUrl, { headersMs: 50 }).uploadFile({ file: source([Buffer.from('abc')], 3) }),
    );
    expect(error).toMatchObject({ code: 'REQUEST_TIMEOUT', mayHaveExecuted: true });
    expect(error.message).toContain('no answer within 50 ms');
  });

  it('closes the source and the connection when the signal is aborted', async () => {
    const opened: Readable[] = [];
    const file = {
      name: 'a',
      size: 1e9,
      open: () => {
        const stream = new Readable({
          read() {
            setTimeout(() => this.push(Buffer.alloc(1000)), 1);
          },
        });
        opened.push(stream);
        return stream;
      },
    };
    let connectionClosed: Promise<unknown> | undefined;
    const baseUrl = await serveRaw((request) => {
      connectionClosed = closing(request.socket);
      request.on('error', () => undefined).resume();
    });
    const stop = new AbortController();
    const uploading = connectTo(baseUrl).uploadFile({ file, signal: stop.signal });
    await until('the upload is under way', () => connectionClosed !== undefined);
    stop.abort();
    expect(await failureOf(uploading)).toMatchObject({ code: 'REQUEST_ABORTED', mayHaveExecuted: true });
    await connectionClosed;
    await until('the source is closed', () => opened.every(({ destroyed }) => destroyed));
    expect(opened).toHaveLength(1);
  });

  it('reads the answer of a service that refuses before it has read the file', async () => {
    const error = { code: 'LIMIT_UPLOAD_SIZE', message: 'The uploaded file is larger than 10 KB.' };
    const baseUrl = await serveRaw((request, response) => {
      request.once('data', () => {
        sendJson(response, { result: { error } });
        request.resume();
      });
    });
    const mebibyte = Buffer.alloc(1024 * 1024);
    const file = source(Array<Buffer>(8).fill(mebibyte), 8 * mebibyte.length);
    expect((await failureOf(connectTo(baseUrl).uploadFile({ file }))).code).toBe('LIMIT_UPLOAD_SIZE');
  });
});
