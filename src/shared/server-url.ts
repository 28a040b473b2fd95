import type { AddressInfo } from 'node:net';

/** Where a server that listens is reached: an address of IPv6 stands in brackets. */
export function serverUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
