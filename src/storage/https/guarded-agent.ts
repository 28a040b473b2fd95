import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { Agent } from 'undici';
import { credentialsProblem } from '../../shared/job';
import { blockList, isIn, isPublic } from './addresses';
import { refused } from './errors';

interface Address {
  readonly address: string;
  readonly family: number;
}

/** The addresses of a name; replaceable for tests. */
export type Resolve = (hostname: string) => Promise<readonly Address[]>;

export interface Guard {
  readonly dispatcher: Agent;
  /** @throws StorageError for an address by number; a name is judged when it is resolved for a connection. */
  assertAllowed(url: URL): void;
}

interface GuardOptions {
  allowedHosts: readonly string[];
  plainHttp: boolean;
  stallMs: number;
  resolve?: Resolve | undefined;
}

/** Connects to public addresses and to `allowedHosts`; a name is judged by the very addresses that are connected to. */
export function createGuard({ allowedHosts, plainHttp, stallMs, resolve = resolveBySystem }: GuardOptions): Guard {
  const isNumeric = (host: string) => isIP(host.split('/')[0] ?? '') !== 0;
  const allowedNames = new Set(allowedHosts.filter((host) => !isNumeric(host)).map((host) => host.toLowerCase()));
  const allowedAddresses = blockList(allowedHosts.filter(isNumeric));
  const assertAddress = (host: string, address: string) => {
    if (isPublic(address) || isIn(allowedAddresses, address)) return;
    throw new PrivateAddressError(host, address);
  };

  const lookup: LookupFunction = (hostname, { all }, done) => {
    void resolve(hostname)
      .then((found) => {
        if (!allowedNames.has(hostname.toLowerCase()))
          for (const { address } of found) assertAddress(hostname, address);
        const [first] = found;
        if (!first) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' });
        return () => (all ? done(null, [...found]) : done(null, first.address, first.family));
      })
      .catch((error: unknown) => () => done(error as NodeJS.ErrnoException, ''))
      // Outside of the chain: what `done` throws is not for `done` again.
      .then((answer) => answer());
  };

  return {
    dispatcher: new Agent({ connect: { lookup, timeout: 10_000 }, headersTimeout: stallMs, bodyTimeout: stallMs }),
    assertAllowed(url) {
      const { protocol, username, password, hostname } = url;
      if (protocol !== 'https:' && !(plainHttp && protocol === 'http:')) {
        throw refused(url, 'UNSUPPORTED_URI', `it leads to a ${protocol} address; only https: is read.`);
      }
      if (username !== '' || password !== '') {
        throw refused(url, 'UNSUPPORTED_URI', `it ${credentialsProblem}`);
      }
      const host = hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) !== 0) assertAddress(host, host);
    },
  };
}

export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
  constructor(host: string, address: string) {
    const where = host === address ? address : `${host} leads to ${address}, which`;
    super(
      `${where} is not an address of the public internet. If it is meant, allow the host (\`allowedHosts\`, \`allowed_hosts\` in [https]).`,
    );
  }
}

async function resolveBySystem(hostname: string): Promise<readonly Address[]> {
  return systemLookup(hostname, { all: true });
}
