import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import type { LookupFunction } from 'node:net';
import { Client } from 'undici';
import { type ResolveHost, resolveCallbackHost } from './callback-address';

export interface CallbackRequest {
  readonly url: URL;
  /** JSON. */
  readonly body: string;
  /** Hosts of the app that may have private addresses. */
  readonly privateHosts: readonly string[];
  readonly signal: AbortSignal;
}

export interface CallbackAnswer {
  readonly status: number;
  /** The header as received. */
  readonly retryAfter: string | undefined;
}

/** No more of an answer than this is read. */
const maxAnswerBytes = 64 * 1024;

/**
 * Sends one callback once, and returns what the receiver answered, whatever its status. Rejects when there was no answer:
 * RefusedAddressError when nothing may be sent there. Redirects are not followed, and no credentials are sent.
 *
 * A connection serves one callback: the address it goes to was checked for this app, now.
 */
export async function sendCallback(
  { url, body, privateHosts, signal }: CallbackRequest,
  { resolveHost, timeoutMs }: { resolveHost: ResolveHost; timeoutMs: number },
): Promise<CallbackAnswer> {
  const limit = AbortSignal.timeout(timeoutMs);
  const ended = AbortSignal.any([signal, limit]);
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
    // The status has decided; reading the body only spares the receiver a reset connection.
    await answer.body.dump({ limit: maxAnswerBytes, signal: ended }).catch(() => undefined);
    const retryAfter = answer.headers['retry-after'];
    return { status: answer.statusCode, retryAfter: [retryAfter].flat()[0] };
  } catch (error) {
    if (limit.aborted && !signal.aborted) throw new Error(`no answer within ${timeoutMs} ms`, { cause: error });
    throw error;
  } finally {
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
