import http from 'node:http';
import { text } from 'node:stream/consumers';
import { serviceOfAllTests, startTestService, type TestClient } from '../support';

/** A request with this header Host; the answer as text. */
async function ask(client: TestClient, host: string): Promise<string> {
  const { port } = new URL(client.url);
  const data = JSON.stringify({ app: client.app.appId, parameters: { format: 'pdf' } });
  const headers = { ...client.headers, host, 'content-type': 'application/x-www-form-urlencoded' };
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/v1/format/get', method: 'POST', headers };
    const request = http.request(
      options,
      (response) => void text(response).then((body) => resolve(`${response.statusCode} ${body}`), reject),
    );
    request.on('error', reject);
    request.end(new URLSearchParams({ data }).toString());
  });
}

describe('the service of one machine', () => {
  const running = serviceOfAllTests();

  it.each([
    'localhost',
    'LOCALHOST:8465',
    '127.0.0.1',
    '127.0.0.1:1',
    '127.9.9.9',
    '[::1]:8465',
    '[::1]',
    'files.localhost',
    'localhost.',
  ])('answers as %s', async (host) => {
    expect(await ask(running.client, host)).toMatch(/^200 /);
  });

  it.each([
    'attacker.example',
    '127.0.0.1.attacker.example',
    'localhost.attacker.example:80',
    '10.0.0.1',
    '[fe80::1]:80',
    'localhost@attacker.example',
  ])('refuses to be %s', async (host) => {
    expect(await ask(running.client, host)).toMatch(/^400 .*INVALID_FIELD.*allow_remote/);
  });
});

it('a service that other machines may use answers under any name', async () => {
  const { client, stop } = await startTestService({ allowRemote: true });
  expect(await ask(client, 'files.example.com')).toMatch(/^200 /);
  await stop();
});
