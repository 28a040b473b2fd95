import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { blockList, isIn, reachOf } from './addresses';
import { createAgent, proxyFor } from './proxy';

/** Resolves a host name; replaceable for tests. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

interface PublicAgentOptions {
  /** Host names, addresses and networks (`10.0.0.0/8`) that may be reached although they are not public. */
  allowedHosts: readonly string[];
  /** Section of `fileconv.toml` that allows hosts, for the error message. */
  section: 'https' | 'notify';
  stallMs: number;
  resolve?: Resolve | undefined;
}

/** Connects to public addresses and `allowedHosts` only. Checks the addresses actually connected to, against DNS rebinding. */
export function createPublicAgent({ allowedHosts, section, stallMs, resolve = resolveBySystem }: PublicAgentOptions) {
  const isNumeric = (host: string) => isIP(host.split('/')[0] ?? '') !== 0;
  const allowedNames = new Set(allowedHosts.filter((host) => !isNumeric(host)).map((host) => host.toLowerCase()));
  const allowedAddresses = blockList(allowedHosts.filter(isNumeric));
  const assertAddress = (host: string, address: string) => {
    if (reachOf(address) === 'public' || isIn(allowedAddresses, address)) return;
    throw new PrivateAddressError(host, address, section);
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
      // Outside of the promise chain: `done` must not be called again with its own error.
      .then((answer) => answer());
  };

  return {
    dispatcher: createAgent({ connect: { lookup, timeout: 10_000 }, headersTimeout: stallMs, bodyTimeout: stallMs }),
    /**
     * Call before each request. A name is checked when it is resolved for a connection; behind a proxy, which resolves it again, by
     * this machine's own lookup.
     * @throws PrivateAddressError
     */
    async assertPublic(url: URL): Promise<void> {
      const { hostname } = url;
      const host = hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) !== 0) assertAddress(host, host);
      if (!proxyFor(url) || allowedNames.has(hostname.toLowerCase())) return;
      const found = await resolve(hostname).catch(() => []);
      for (const { address } of found) assertAddress(hostname, address);
    },
  };
}

export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
  constructor(host: string, address: string, section: PublicAgentOptions['section']) {
    const where = host === address ? address : `${host} leads to ${address}, which`;
    super(
      `${where} is not an address of the public internet. If it is meant, allow the host (\`allowedHosts\`, \`allowed_hosts\` in [${section}]).`,
    );
  }
}

const resolveBySystem: Resolve = (hostname) => systemLookup(hostname, { all: true });
