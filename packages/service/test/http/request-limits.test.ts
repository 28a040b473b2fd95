import { EventEmitter } from 'node:events';
import net from 'node:net';
import type { FastifyRequest } from 'fastify';
import { watchBody } from '../../src/http/unreadable-request';
import type { TaskError } from '../../src/shared/task-error';
import { parseAnswer, serviceOfAllTests, startTestService } from '../support';

/** Limits of one request: size, fields, depth and time. raw-http.test.ts covers headers. */

const { client } = serviceOfAllTests({ maxDataBytes: 512 * 1024, maxFormFields: 5, maxDataDepth: 10 });

const nested = (depth: number, [open, close]: [string, string]): string => open.repeat(depth) + close.repeat(depth);

describe('the JSON of the field data', () => {
  it.each(['task/response', 'upload/file'])(
    'is refused by %s if any part is nested 100,000 levels deep',
    async (endpoint) => {
      const arrays = nested(100_000, ['[', ']']);
      const objects = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
      const { appId } = client.app;
      for (const data of [
        arrays,
        '['.repeat(100_000),
        objects,
        `{"app":"${appId}","parameters":${objects}}`,
        `{"app":"${appId}","include":${arrays}}`,
      ]) {
        const form = new FormData();
        form.set('data', data);
        const { status, error } = await parseAnswer(await client.send(endpoint, { body: form }));
        expect([status, error]).toEqual([
          400,
          { code: 'INVALID_FIELD', message: 'The field data is nested more than 10 levels deep.' },
        ]);
      }
    },
  );

  it('may be as deep as the limit, not counting brackets in texts', async () => {
    const { app } = client;
    const deepest = await client.postField('task/response', `{"app":"${app.appId}","x":${nested(9, ['[', ']'])}}`);
    expect(deepest.error.code).not.toBe('INVALID_FIELD');
    const text = JSON.stringify({ app: app.appId, parameters: { format: `"\\"${'[{'.repeat(100)}\\` } });
    expect((await client.postField('format/get', text)).error.code).toBe('WRONG_FORMAT_STRUCTURE');
  });

  it('is refused if it is larger than max_data_bytes', async () => {
    const tooMuch = 'x'.repeat(600 * 1024);
    const answers = [
      await client.postField('format/get', tooMuch),
      await client.post('format/get', { later: tooMuch }),
      await client.post('upload/file', { later: tooMuch }, { name: 'a.txt', data: 'a' }),
    ];
    const message = 'The field data is invalid: it is larger than 512 KiB.';
    for (const { status, error } of answers) expect([status, error]).toEqual([400, { code: 'INVALID_FIELD', message }]);
  });
});

it.each(['task/response', 'upload/file'])(
  'a form with more fields than max_form_fields is refused by %s',
  async (endpoint) => {
    const form = new FormData();
    for (let count = 0; count < 6; count += 1) form.append('data', '{}');
    const { status, error } = await parseAnswer(await client.send(endpoint, { body: form }));
    expect([status, error]).toEqual([400, { code: 'INVALID_FIELD', message: 'The form has more than 5 fields.' }]);
  },
);

describe('a client that sends its body byte by byte', () => {
  it('gets an error and loses the connection, whatever the endpoint', async () => {
    const impatient = await startTestService({ bodyTimeoutMs: 100 });
    const disposition = '--b\r\ncontent-disposition: form-data; name=';
    const asked = [
      ['task/response', 'application/x-www-form-urlencoded', 'data='],
      ['task/response', 'multipart/form-data; boundary=b', `${disposition}"data"\r\n\r\n`],
      ['upload/file', 'multipart/form-data; boundary=b', `${disposition}"file"; filename="a.txt"\r\n\r\n`],
    ] as const;
    const answers = await Promise.all(
      asked.map(([endpoint, type, begin]) =>
        dripUntilClosed(
          impatient.service.port,
          `POST /v1/${endpoint} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${impatient.client.token}\r\ncontent-type: ${type}\r\ncontent-length: 100000\r\n\r\n${begin}`,
        ),
      ),
    );
    for (const answer of answers) {
      expect(answer).toMatch(/^HTTP\/1.1 400 [^]*"INVALID_FIELD"/);
      expect(answer).toContain('came too slowly');
    }
    await impatient.stop();
  });

  describe('measured by a fake clock', () => {
    beforeEach(() => jest.useFakeTimers());
    afterEach(() => jest.useRealTimers());

    it('is not a client with a long upload, or one that waits for its conversion', () => {
      const { raw, refused } = watched(1_000);
      for (let count = 0; count < 30; count += 1) {
        raw.socket.bytesRead += 64 * 1024;
        jest.advanceTimersByTime(1_000);
      }
      raw.complete = true;
      jest.advanceTimersByTime(3_600_000);
      expect([refused, jest.getTimerCount()]).toEqual([[], 0]);
    });

    it('is a client whose upload sends less than 64 KiB in time', () => {
      const { raw, refused } = watched(1_000);
      raw.socket.bytesRead += 64 * 1024;
      jest.advanceTimersByTime(1_000);
      raw.socket.bytesRead += 64 * 1024 - 1;
      jest.advanceTimersByTime(999);
      expect(refused).toEqual([]);
      jest.advanceTimersByTime(1);
      expect(refused).toEqual([expect.objectContaining({ code: 'INVALID_FIELD' })]);
      expect(raw.destroyed).toBe(false);
      // The client gets time to read the answer.
      jest.advanceTimersByTime(500);
      expect(raw.destroyed).toBe(true);
    });
  });
});

/** Stands in for the request that `watchBody` watches. */
class FakeRequest extends EventEmitter {
  complete = false;
  destroyed = false;
  readonly socket = { bytesRead: 0 };
  destroy(): void {
    this.destroyed = true;
  }
}

function watched(bodyTimeoutMs: number): { raw: FakeRequest; refused: TaskError[] } {
  const raw = new FakeRequest();
  const refused: TaskError[] = [];
  watchBody({ raw } as unknown as FastifyRequest, bodyTimeoutMs, (error) => refused.push(error));
  return { raw, refused };
}

/** Sends a body without end, and returns everything received until the connection closes. */
async function dripUntilClosed(port: number, begin: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  socket.write(begin);
  const drip = setInterval(() => socket.writable && socket.write('x'), 20);
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  clearInterval(drip);
  return received;
}
