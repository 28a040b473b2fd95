import { createServer, type AddressInfo } from 'node:net';

/**
 * A port of 127.0.0.1 on which nothing listens now. Another process can take it before it is used: whoever uses it must
 * be ready to try another one.
 */
export async function freePort(): Promise<number> {
  return await listenBriefly(0);
}

export async function isPortFree(port: number): Promise<boolean> {
  return await listenBriefly(port).then(
    () => true,
    () => false,
  );
}

/** `preferred`, or another port when something listens there. */
export async function portNear(preferred: number): Promise<number> {
  return (await isPortFree(preferred)) ? preferred : await freePort();
}

async function listenBriefly(port: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return bound;
}
