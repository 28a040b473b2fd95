import { createServer } from 'node:net';

/**
 * A port of `ip` on which nothing listens now. Another process can take it before it is used: whoever uses it must be
 * ready to try another one.
 */
export async function freePort(ip = '127.0.0.1'): Promise<number> {
  return await listenBriefly(0, ip);
}

/** Whether a server could listen there now. */
export async function isPortFree(port: number, ip: string): Promise<boolean> {
  return await listenBriefly(port, ip).then(
    () => true,
    () => false,
  );
}

/** `preferred`, or another port when something listens there. */
export async function portNear(preferred: number, ip = '127.0.0.1'): Promise<number> {
  return (await isPortFree(preferred, ip)) ? preferred : await freePort(ip);
}

async function listenBriefly(port: number, ip: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, ip, resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
  return address.port;
}
