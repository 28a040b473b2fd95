import type { Socket } from 'node:net';
import { closeAll, connectTo, failureOf, sendJson, serveRaw } from './loopback';

afterEach(closeAll);

const running = { entity: { id: 't', status: 'running' }, result: {} };

/** Counts connections, and lets the test handle each request by its number. */
async function serveCounting(onRequest: (number: number, answer: () => void, socket: Socket) => void) {
  const connections = new Set<Socket>();
  let requests = 0;
  const baseUrl = await serveRaw(
    (request, response) =>
      request.resume().on('end', () => {
        requests += 1;
        onRequest(requests, () => sendJson(response, running), request.socket);
      }),
    (server) => server.on('connection', (socket) => connections.add(socket)),
  );
  return { baseUrl, connections, count: () => requests };
}

it('consecutive requests share connections', async () => {
  const { baseUrl, connections } = await serveCounting((_number, answer) => answer());
  const api = connectTo(baseUrl);
  for (let number = 0; number < 10; number += 1) await api.convertFile({ connector: 'c', output: 'pdf' });
  // undici frees a connection one turn of the event loop after its answer, so two take turns.
  expect(connections.size).toBeLessThanOrEqual(2);
});

it('a connection that the service closed between two requests is not reused, and the request runs once', async () => {
  const { baseUrl, connections, count } = await serveCounting((_number, answer) => answer());
  const api = connectTo(baseUrl);
  await api.convertFile({ connector: 'c', output: 'pdf' });
  for (const socket of connections) socket.end();
  await new Promise((resolve) => setTimeout(resolve, 50));
  await api.convertFile({ connector: 'c', output: 'pdf' });
  expect({ requests: count(), connections: connections.size }).toEqual({ requests: 2, connections: 2 });
});

it('a connection that closed while this process was busy is detected before a byte is written', async () => {
  const { baseUrl, connections, count } = await serveCounting((_number, answer) => answer());
  const api = connectTo(baseUrl);
  await api.convertFile({ connector: 'c', output: 'pdf' });
  for (const socket of connections) socket.destroy();
  // The close has arrived, but the event loop has not run since.
  await api.convertFile({ connector: 'c', output: 'pdf' });
  expect({ requests: count(), connections: connections.size }).toEqual({ requests: 2, connections: 2 });
});

it('a request that reached a kept-alive connection before it closed may have been executed, and is not repeated', async () => {
  const { baseUrl, count } = await serveCounting((number, answer, socket) => {
    if (number === 1) answer();
    else socket.destroy();
  });
  const api = connectTo(baseUrl);
  await api.convertFile({ connector: 'c', output: 'pdf' });
  const error = await failureOf(api.convertFile({ connector: 'c', output: 'pdf' }));
  expect(error).toMatchObject({ code: 'CONNECTION_LOST', mayHaveExecuted: true });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(count()).toBe(2);
});

it('concurrent requests use separate connections, so that none fails because of another', async () => {
  const { baseUrl, connections } = await serveCounting((number, answer, socket) => {
    if (number === 2) socket.destroy();
    else setTimeout(answer, 100);
  });
  const api = connectTo(baseUrl);
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => api.convertFile({ connector: 'c', output: 'pdf' })));
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  expect(connections.size).toBe(3);
});
