import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import { CommandError } from '../command-error';

export interface OwnAddress {
  /** Begins a sentence, for example `Metrics`. */
  what: string;
  /** Of the configuration, which the address comes from. */
  section: 'worker' | 'service' | 'callbacks';
  key: 'metrics_address' | 'health_address';
  /** `127.0.0.1:9465` or `[::1]:9465`; port 0: any free one. Whether others may reach it was checked before. */
  address: string;
}

/** @throws CommandError that says which key to change when the process can't listen there. */
export async function serveAt(
  { what, section, key, address }: OwnAddress,
  listener: RequestListener,
): Promise<{ server: Server; url: string; close: () => Promise<void> }> {
  const { hostname, port } = new URL(`http://${address}`);
  const server = createServer({ requestTimeout: 5_000 }, listener);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      // 80 is the port that a URL leaves out.
      server.listen({ host: hostname.replace(/[[\]]/g, ''), port: port === '' ? 80 : Number(port) }, resolve);
    });
  } catch (error) {
    const reason =
      systemErrorCode(error) === 'EADDRINUSE'
        ? `Another program listens on ${address}`
        : `${what} can't be told at ${address} (${systemErrorCode(error) ?? 'unknown error'})`;
    const variable = `FILECONV_${section}_${key}`.toUpperCase();
    const problem = `${reason}. Give this process another address (${variable}), or leave ${section}.${key} out.`;
    throw new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
  }
  const { port: bound } = server.address() as AddressInfo;
  return {
    server,
    url: `http://${hostname}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // A scraper simply asks again.
        server.closeAllConnections();
      }),
  };
}
