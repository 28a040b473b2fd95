import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { hugePng } from '../engines/bombs';
import { parseAnswer, startTestService, type TestClient } from '../support';

/** What one request may take: size, fields, depth and time. */

let running: Awaited<ReturnType<typeof startTestService>>;
let client: TestClient;
const bodyTimeoutMs = 400;

beforeAll(async () => {
  running = await startTestService({
    headersTimeoutMs: 400,
    bodyTimeoutMs,
    maxDataBytes: 512 * 1024,
    maxFormFields: 5,
    maxDataDepth: 10,
  });
  client = running.client;
});

afterAll(() => running.stop());

const nested = (depth: number, [open, close]: [string, string]): string => open.repeat(depth) + close.repeat(depth);

describe('the JSON of the field data', () => {
  it.each(['convert/file', 'task/response', 'download/url', 'upload/file', 'format/get'])(
    'is refused by %s when it is nested 100,000 levels deep, wherever',
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

  it('may be as deep as the limit, and brackets in its texts do not count', async () => {
    const { app } = client;
    const deepest = await client.postField('task/response', `{"app":"${app.appId}","x":${nested(9, ['[', ']'])}}`);
    expect(deepest.error.code).not.toBe('INVALID_FIELD');
    const text = JSON.stringify({ app: app.appId, parameters: { format: `"\\"${'[{'.repeat(100)}\\` } });
    expect((await client.postField('format/get', text)).error.code).toBe('WRONG_FORMAT_STRUCTURE');
  });

  it('is refused when it is larger than max_data_bytes', async () => {
    const tooMuch = 'x'.repeat(600 * 1024);
    const answers = [
      await client.postField('format/get', tooMuch),
      await client.post('format/get', { later: tooMuch }),
      await client.post('upload/file', { later: tooMuch }, { name: 'a.txt', data: 'a' }),
    ];
    const message = 'The field data is invalid: it is larger than 512 KiB.';
    expect(answers.map(({ error }) => error)).toEqual(answers.map(() => ({ code: 'INVALID_FIELD', message })));
  });
});

describe('a form with more fields than max_form_fields', () => {
  it.each(['task/response', 'upload/file'])('is refused by %s', async (endpoint) => {
    const form = new FormData();
    for (let count = 0; count < 6; count += 1) form.append('data', '{}');
    const { status, error } = await parseAnswer(await client.send(endpoint, { body: form }));
    expect([status, error]).toEqual([400, { code: 'INVALID_FIELD', message: 'The form has more than 5 fields.' }]);
  });
});

describe('a client that is slow on purpose', () => {
  it('loses the connection when its headers do not come', async () => {
    const slow = new SlowClient(running.service.port);
    slow.write('POST /v1/task/response HTTP/1.1\r\nhost: x\r\n');
    await slow.closed(3_000);
    expect(slow.received).toMatch(/^HTTP\/1.1 400 [^]*INVALID_FIELD[^]*too slowly/);
  });

  it.each([
    ['task/response', 'application/x-www-form-urlencoded', 'data='],
    ['task/response', 'multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="data"\r\n\r\n'],
    [
      'upload/file',
      'multipart/form-data; boundary=b',
      '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n',
    ],
  ])(
    'is told so by %s (%s) when its body comes byte by byte, and loses the connection',
    async (endpoint, type, begin) => {
      const slow = new SlowClient(running.service.port);
      slow.write(
        `POST /v1/${endpoint} HTTP/1.1\r\nhost: x\r\nauthorization: ${client.headers['authorization'] ?? ''}\r\ncontent-type: ${type}\r\ncontent-length: 100000\r\n\r\n${begin}`,
      );
      const drip = setInterval(() => slow.write('x'), 20);
      await slow.closed(5_000);
      clearInterval(drip);
      expect(slow.received).toMatch(/^HTTP\/1.1 400 /);
      expect(slow.received).toContain('"INVALID_FIELD"');
      expect(slow.received).toContain('came too slowly');
    },
  );

  it('is no client whose large upload takes long, nor one that waits for its conversion', async () => {
    const slow = new SlowClient(running.service.port);
    const begin =
      `--b\r\ncontent-disposition: form-data; name="data"\r\n\r\n{"app":"${client.app.appId}"}\r\n` +
      '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';
    const end = '\r\n--b--\r\n';
    const chunks = 15;
    const length = begin.length + chunks * 100_000 + end.length;
    slow.write(
      `POST /v1/upload/file HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: ${client.headers['authorization'] ?? ''}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: ${length}\r\n\r\n${begin}`,
    );
    for (let count = 0; count < chunks; count += 1) {
      slow.write('x'.repeat(100_000));
      await sleep(bodyTimeoutMs / 5);
    }
    slow.write(end);
    await slow.closed(5_000);
    expect(slow.received).toMatch(/^HTTP\/1.1 200 /);

    const started = Date.now();
    const { output } = await client.convert({ name: 'a.png', data: hugePng(4_000) }, 'avif');
    expect(Date.now() - started).toBeGreaterThan(bodyTimeoutMs * 2);
    expect(output.status).toBe('successful');
  });
});

class SlowClient {
  received = '';
  readonly #socket: net.Socket;
  readonly #closed: Promise<void>;

  constructor(port: number) {
    this.#socket = net.connect(port, '127.0.0.1');
    this.#socket.on('data', (chunk) => (this.received += chunk.toString('latin1')));
    this.#socket.on('error', () => undefined);
    this.#closed = new Promise((resolve) => this.#socket.once('close', () => resolve()));
  }

  write(text: string): void {
    if (this.#socket.writable) this.#socket.write(text);
  }

  async closed(deadlineMs: number): Promise<void> {
    const late = sleep(deadlineMs).then(() => {
      throw new Error(`The connection is still open after ${deadlineMs} ms; received: ${this.received}`);
    });
    await Promise.race([this.#closed, late]);
    late.catch(() => undefined);
  }
}
