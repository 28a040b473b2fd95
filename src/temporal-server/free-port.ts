import { createServer } from 'node:net';

/**
 * A port of `ip` on which nothing listens now. Another process can take it before it is used: whoever uses it must be
 * ready to try another one.
 */
export async function freePort(ip = '127.0.0.1'): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, ip, resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
  return address.port;
}
