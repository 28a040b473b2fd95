import { openRequest, serviceOfAllTests, startTestService, type TestClient } from '../support';

/** A request with this header Host; the answer as text. */
async function ask(client: TestClient, host: string): Promise<string> {
  const headers = { host, 'content-type': 'application/x-www-form-urlencoded' };
  const { request, answer } = openRequest(client, 'format/get', { headers });
  const data = JSON.stringify({ app: client.app.appId, parameters: { format: 'pdf' } });
  request.end(new URLSearchParams({ data }).toString());
  const { status, body } = await answer;
  return `${status ?? 0} ${body}`;
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
  ])('answers as %s', async (host) => expect(await ask(running.client, host)).toMatch(/^200 /));

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
