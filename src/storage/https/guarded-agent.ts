import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { createAgent, proxyFor } from '../../network/proxy';
import { credentialsProblem, withoutSecrets } from '../../shared/job';
import { systemErrorCode } from '../../shared/system-error';
import { StorageError, cannotRead, type StorageErrorCode } from '../errors';
import { blockList, isIn, reachOf } from '../../network/addresses';

/** The addresses of a name; replaceable for tests. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export type Guard = ReturnType<typeof createGuard>;

interface GuardOptions {
  allowedHosts: readonly string[];
  plainHttp: boolean;
  stallMs: number;
  resolve?: Resolve | undefined;
}

/** Connects to public addresses and to `allowedHosts`; a name is judged by the very addresses that are connected to. */
export function createGuard({ allowedHosts, plainHttp, stallMs, resolve = resolveBySystem }: GuardOptions) {
  const isNumeric = (host: string) => isIP(host.split('/')[0] ?? '') !== 0;
  const allowedNames = new Set(allowedHosts.filter((host) => !isNumeric(host)).map((host) => host.toLowerCase()));
  const allowedAddresses = blockList(allowedHosts.filter(isNumeric));
  const assertAddress = (host: string, address: string) => {
    if (reachOf(address) === 'public' || isIn(allowedAddresses, address)) return;
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
    dispatcher: createAgent({ connect: { lookup, timeout: 10_000 }, headersTimeout: stallMs, bodyTimeout: stallMs }),
    /** @throws StorageError for an address by number; a name is judged when it is resolved for a connection. */
    assertAllowed(url: URL): void {
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
    /** A proxy resolves names by itself: what this machine knows of one is judged here, before it is asked. */
    async assertBehindProxy(url: URL): Promise<void> {
      const { hostname } = url;
      if (!proxyFor(url) || allowedNames.has(hostname.toLowerCase())) return;
      const found = await resolve(hostname).catch(() => []);
      for (const { address } of found) assertAddress(hostname, address);
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

const resolveBySystem: Resolve = (hostname) => systemLookup(hostname, { all: true });

export function refused(url: URL, code: StorageErrorCode, why: string): StorageError {
  return cannotRead(withoutSecrets(String(url)), {
    code,
    why,
    retryable: code === 'STORAGE_FAILED' || code === 'SOURCE_CHANGED',
  });
}

/** A status that is neither success nor a redirect. */
export function statusFailure(url: URL, status: number): StorageError {
  if (status === 412) return changed(url);
  if (status === 404 || status === 410) return refused(url, 'SOURCE_NOT_FOUND', `the server answers ${status}.`);
  if (status === 401 || status === 403) {
    const why = `the server answers ${status}: this worker may not read it, or the signature of the URL has expired. Get a new URL.`;
    return refused(url, 'SOURCE_UNREADABLE', why);
  }
  const mayPass = status >= 500 || status === 408 || status === 429;
  return refused(url, mayPass ? 'STORAGE_FAILED' : 'SOURCE_UNREADABLE', `the server answers ${status}.`);
}

export function changed(url: URL): StorageError {
  return refused(url, 'SOURCE_CHANGED', 'the file changed while it was in use.');
}

/** What went wrong on the way to an answer, or in the middle of it. */
export function connectionFailure(url: URL, error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const code = systemErrorCode(error) ?? '';
  if (code === 'ENOTFOUND') return refused(url, 'SOURCE_NOT_FOUND', `there is no host ${url.hostname}.`);
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/.test(code)) {
    return refused(url, 'SOURCE_UNREADABLE', `the certificate of ${url.hostname} is not trusted (${code}).`);
  }
  const reason = code === 'UND_ERR_BODY_TIMEOUT' ? 'no more bytes come' : error instanceof Error ? error.message : code;
  return refused(url, 'STORAGE_FAILED', `${[...new Set([code, reason])].filter(Boolean).join(': ')}.`);
}
