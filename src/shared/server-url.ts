import type { AddressInfo } from 'node:net';

/** URL of a listening server, with an IPv6 address in brackets. */
export function serverUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
