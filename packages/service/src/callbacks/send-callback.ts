import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { isIP, type LookupFunction } from 'node:net';
import { limitTime, reachOf } from 'temporal-file-conversion/network';
import { Client } from 'undici';
import type { Account } from '../accounts/account';

/** Section "Authentication", 5: callback URLs must have a domain verified for the app. Returns the code of what is wrong, if anything. */
export function callbackProblem(
  callback: string | undefined,
  { callbackDomains }: Pick<Account, 'callbackDomains'>,
): 'INVALID_CALLBACK' | 'UNVERIFIED_DOMAIN_CALLBACK' | undefined {
  if (callback === undefined) return undefined;
  const url = URL.canParse(callback) ? new URL(callback) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return 'INVALID_CALLBACK';
  if (!matchesDomain(url.hostname, callbackDomains)) return 'UNVERIFIED_DOMAIN_CALLBACK';
  // A password in a URL ends up in logs, here and at the receiver.
  return url.username !== '' || url.password !== '' ? 'INVALID_CALLBACK' : undefined;
}

/** `example.com` matches only itself, `*.example.com` every name below it. */
function matchesDomain(hostname: string, domains: readonly string[]): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  return domains.some((domain) => (domain.startsWith('*.') ? host.endsWith(domain.slice(1)) : host === domain));
}

/** Resolves a host name to all of its addresses. */
export type ResolveHost = (hostname: string) => Promise<readonly LookupAddress[]>;

/** The host of a callback has an address that the service does not call. */
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError';
}

/**
 * The addresses to connect to, all of them public, or private where the operator allows that for this host. A single forbidden address
 * rules out the host: no honest name points both ways.
 *
 * Connect to these addresses without resolving the name again, because it may resolve differently by then.
 */
export async function resolveCallbackHost(
  url: URL,
  { resolveHost, privateHosts }: { resolveHost: ResolveHost; privateHosts: readonly string[] },
): Promise<readonly LookupAddress[]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(host);
  const addresses = family === 0 ? await resolveHost(host) : [{ address: host, family }];
  if (addresses.length === 0) throw new Error('the name of the host has no address');
  const privateAllowed = matchesDomain(url.hostname, privateHosts);
  for (const { address } of addresses) {
    const reach = reachOf(address);
    // Special addresses are never called, even if the operator has opened the host.
    if (reach === 'public' || (privateAllowed && reach !== 'special')) continue;
    throw new RefusedAddressError(`the host has the address ${address} (${reach}), which is not called`);
  }
  return addresses;
}

export interface CallbackRequest {
  readonly url: URL;
  /** JSON. */
  readonly body: string;
  /** Hosts of the app that may have private addresses. */
  readonly privateHosts: readonly string[];
  readonly signal: AbortSignal;
}

/** `retryAfter`: the header as received. */
export type CallbackAnswer = Awaited<ReturnType<typeof sendCallback>>;

/** Limit for the bytes that are read of an answer. */
const maxAnswerBytes = 64 * 1024;

/**
 * Sends one callback once, and returns the receiver's answer, whatever its status. Rejects if there was no answer, with
 * RefusedAddressError if nothing may be sent there. Redirects are not followed, and no credentials are sent.
 *
 * A connection serves one callback, because its address was checked only for this app and this moment.
 */
export async function sendCallback(
  { url, body, privateHosts, signal }: CallbackRequest,
  { resolveHost, timeoutMs }: { resolveHost: ResolveHost; timeoutMs: number },
) {
  const limit = limitTime(signal, timeoutMs);
  const ended = limit.signal;
  let client: Client | undefined;
  try {
    ended.throwIfAborted();
    const resolving = resolveCallbackHost(url, { resolveHost, privateHosts });
    await Promise.race([resolving, once(ended, 'abort')]);
    ended.throwIfAborted();
    const addresses = await resolving;
    client = new Client(url.origin, {
      connect: { lookup: lookUpIn(addresses), timeout: timeoutMs },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    const answer = await client.request({
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: { 'content-type': 'application/json', 'user-agent': 'temporal-file-conversion' },
      body,
      reset: true,
      signal: ended,
    });
    // Only the status matters; reading the body spares the receiver a reset connection.
    await answer.body.dump({ limit: maxAnswerBytes, signal: ended }).catch(() => undefined);
    const retryAfter = answer.headers['retry-after'];
    return { status: answer.statusCode, retryAfter: [retryAfter].flat()[0] };
  } catch (error) {
    if (limit.isOver) throw new Error(`no answer within ${timeoutMs} ms`, { cause: error });
    throw error;
  } finally {
    limit.end();
    await client?.destroy();
  }
}

/** Resolves any name to these addresses. */
function lookUpIn(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    const [first] = addresses;
    if (all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}
