import { closeAll, connectTo, failureOf, sendJson, serve, serveTcp } from './loopback';

afterEach(closeAll);

const running = { entity: { id: 't', status: 'running' }, result: {} };

it('close waits for requests in flight, including their bodies', async () => {
  const { baseUrl } = await serve((response, { url }) => {
    if (url.endsWith('/get')) {
      response.write('half ');
      setTimeout(() => response.end('rest'), 200);
    } else setTimeout(() => sendJson(response, running), 200);
  });
  const api = connectTo(baseUrl);
  const { body } = await api.download({ ticket: { connector: 'c' } });
  const text = body.reduce((all, chunk: Buffer) => all + chunk.toString(), '');
  const submit = api.convertFile({ connector: 'c', output: 'pdf' });
  await Promise.all([api.close(), api.close()]);
  expect(await submit).toMatchObject({ status: 'running' });
  expect(await text).toBe('half rest');
});

it('close does not wait for the connection of an aborted request', async () => {
  const baseUrl = (await serveTcp(() => undefined)).replace('http:', 'https:');
  // Longer than a test may take.
  const api = connectTo(baseUrl, { connectMs: 3_600_000 });
  await failureOf(api.convertFile({ connector: 'c', output: 'pdf', signal: AbortSignal.timeout(50) }));
  await api.close();
});

it('a request after close fails, and says that nothing was sent', async () => {
  const api = connectTo((await serve((response) => sendJson(response, running))).baseUrl);
  await api.close();
  const error = await failureOf(api.convertFile({ connector: 'c', output: 'pdf' }));
  expect(error).toMatchObject({ code: 'REQUEST_ABORTED', mayHaveExecuted: false });
  expect(error.message).toContain('the client was closed');
});
