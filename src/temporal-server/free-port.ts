import { createServer } from 'node:net';

/**
 * A port of `ip` on which nothing listens now: `preferred` if that is free. Another process can take it before it is used:
 * whoever uses it must be ready to try another one.
 */
export async function freePort(ip = '127.0.0.1', preferred = 0): Promise<number> {
  const port = await tryPort(ip, preferred);
  if (port !== undefined) return port;
  const other = await tryPort(ip, 0);
  if (other === undefined) throw new Error(`No port of ${ip} is free.`);
  return other;
}

async function tryPort(ip: string, port: number): Promise<number | undefined> {
  const server = createServer();
  const listening = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(false);
      else reject(error);
    });
    server.listen(port, ip, () => resolve(true));
  });
  if (!listening) return undefined;
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return address === null || typeof address === 'string' ? undefined : address.port;
}
