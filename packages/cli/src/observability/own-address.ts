import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import { CommandError } from '../command-error';

/**
 * Lets a server listen, and resolves with its base URL.
 *
 * @param address `127.0.0.1:9465` or `[::1]:9465`; port 0: any free one. Whether others may reach it was checked before.
 */
export async function listenAt(server: Server, address: string): Promise<string> {
  const { hostname, port } = new URL(`http://${address}`);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // 80 is the port that a URL leaves out.
    server.listen({ host: hostname.replace(/[[\]]/g, ''), port: port === '' ? 80 : Number(port) }, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return `http://${hostname}:${bound}`;
}

/** Closes open connections too: a scraper simply asks again. */
export function closeAtOnce(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Says which key to change when a process can't listen where its configuration says. */
export function addressUnusable(
  error: unknown,
  {
    what,
    section,
    key,
    address,
  }: {
    /** Begins a sentence, for example `Metrics`. */
    what: string;
    /** Of the configuration, which the address comes from. */
    section: 'worker' | 'service' | 'callbacks';
    key: 'metrics_address' | 'health_address';
    address: string;
  },
): CommandError {
  const variable = `FILECONV_${section}_${key}`.toUpperCase();
  const reason =
    systemErrorCode(error) === 'EADDRINUSE'
      ? `Another program listens on ${address}`
      : `${what} can't be told at ${address} (${systemErrorCode(error) ?? 'unknown error'})`;
  const problem = `${reason}. Give this process another address (${variable}), or leave ${section}.${key} out.`;
  return new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
}
