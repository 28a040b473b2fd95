import net from 'node:net';
import { serviceOfAllTests } from '../support';

/** Requests that no HTTP library sends get an answer in the documented form instead of Node's own. */

const running = serviceOfAllTests({ headersTimeoutMs: 400 });

/** Sends the pieces, and returns the answer once the service has closed the connection. */
async function exchange(...pieces: string[]): Promise<{ head: string; body: unknown }> {
  const socket = net.connect(Number(new URL(running.service.url).port), '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  for (const piece of pieces) socket.write(piece);
  await new Promise((resolve) => socket.once('close', resolve).once('error', resolve));
  const [head = '', body = ''] = Buffer.concat(chunks).toString('utf8').split('\r\n\r\n');
  return { head, body: JSON.parse(body) };
}

const path = '/v1/task/response';
const close = 'connection: close\r\n';

const post = (headers: string) => `POST ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}`;
const unreadable = [400, 'INVALID_FIELD', /could not be read/] as const;
const postAlone = [405, 'POST_METHOD_ALLOWED', /POST/] as const;
// The request could be parsed, so the missing header is reported next.
const read = [403, 'MISSING_AUTHORIZATION_HEADER', /missing/] as const;

it.each([
  ['no HTTP at all', 'wibble\r\n\r\n', ...unreadable],
  ['a bad header', post('bad header\r\n\r\n'), ...unreadable],
  ['more headers than fit', post(`long: ${'x'.repeat(20_000)}\r\n\r\n`), 400, 'INVALID_FIELD', /headers .* 16 KiB/],
  ['headers that never end', post(''), 400, 'INVALID_FIELD', /too slowly/],
  ['two lengths', post('content-length: 1\r\ncontent-length: 2\r\n\r\n'), ...unreadable],
  ['a method of its own', `WIBBLE ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`, ...postAlone],
  ['the method CONNECT', `CONNECT x:443 HTTP/1.1\r\nhost: localhost\r\n\r\n`, ...postAlone],
  ['no host', `POST ${path} HTTP/1.1\r\n${close}\r\n`, ...read],
  ['an expectation', post(`expect: cake\r\n${close}\r\n`), ...read],
  ['an upgrade', post('upgrade: h2c\r\nconnection: upgrade, close\r\n\r\n'), ...read],
  ['HTTP/1.0', `POST ${path} HTTP/1.0\r\n\r\n`, ...read],
  [
    'a method for an address in full',
    `GET http://localhost${path}#x HTTP/1.1\r\nhost: localhost\r\n${close}\r\n`,
    ...postAlone,
  ],
  ['a method that is seldom seen', `PROPFIND ${path} HTTP/1.1\r\nhost: localhost\r\n${close}\r\n`, ...postAlone],
])('answers %s in the documented form, with all headers', async (_what, request, status, code, message) => {
  const { head, body } = await exchange(request);
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  for (const name of ['limit', 'remaining', 'reset'])
    expect(head).toMatch(new RegExp(`^x-ratelimit-${name}: \\d+\r?$`, 'im'));
  expect(head).toMatch(/^content-type: application\/json\r?$/im);
  expect(body).toMatchObject({ code, message: expect.stringMatching(message) as string });
  expect(body).toMatchObject({ result: { output: {}, error: { code }, warning: {} } });
});

it('answers a body with broken chunks only once', async () => {
  const request = `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${running.client.token}\r\ntransfer-encoding: chunked\r\ncontent-type: application/x-www-form-urlencoded\r\n\r\n`;
  const { head, body } = await exchange(request, 'no chunk\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 400 /);
  expect(body).toMatchObject({ code: 'INVALID_FIELD', result: { error: { code: 'INVALID_FIELD' } } });
});

it('delivers the refusal to a client that sends its whole body before it reads, even without keep-alive', async () => {
  const socket = net.connect(Number(new URL(running.service.url).port), '127.0.0.1').pause();
  const length = 20 * 1024 * 1024;
  socket.write(`${post(close)}content-length: ${length}\r\n\r\n`);
  await new Promise<void>((sent, failed) => socket.once('error', failed).write(Buffer.alloc(length), () => sent()));
  const chunks = await socket.toArray();
  expect(Buffer.concat(chunks as Buffer[]).toString()).toMatch(/^HTTP\/1\.1 403 [^]*MISSING_AUTHORIZATION_HEADER/);
});
