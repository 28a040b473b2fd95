import { openRequest, serviceOfAllTests, startTestService, type TestClient } from '../support';

/** Sends a request with this Host header. @returns status and body. */
async function ask(client: TestClient, host: string): Promise<string> {
  const headers = { host, 'content-type': 'application/x-www-form-urlencoded' };
  const { request, answer } = openRequest(client, 'format/get', { headers });
  const data = JSON.stringify({ app: client.app.appId, parameters: { format: 'pdf' } });
  request.end(new URLSearchParams({ data }).toString());
  const { status, body } = await answer;
  return `${status ?? 0} ${body}`;
}

describe('a local service', () => {
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
  ])('answers to the name %s', async (host) => expect(await ask(running.client, host)).toMatch(/^200 /));

  it.each([
    'attacker.example',
    '127.0.0.1.attacker.example',
    'localhost.attacker.example:80',
    '10.0.0.1',
    '[fe80::1]:80',
    'localhost@attacker.example',
  ])('refuses the name %s', async (host) => {
    expect(await ask(running.client, host)).toMatch(/^400 .*INVALID_FIELD.*allow_remote/);
  });
});

it('a service open to other machines answers to any name', async () => {
  const { client, stop } = await startTestService({ allowRemote: true });
  expect(await ask(client, 'files.example.com')).toMatch(/^200 /);
  await stop();
});
