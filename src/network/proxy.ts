import { isIP } from 'node:net';
import type * as Undici from 'undici';
import { blockList, isIn, isLoopback } from './addresses';

export type ProxyVariables = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for a URL by HTTPS_PROXY, HTTP_PROXY and NO_PROXY, each in lower case too, as `curl` reads them; undefined: none. Never one
 * for loopback. Its URL may contain a password.
 */
export function proxyFor({ protocol, hostname, port }: URL, variables: ProxyVariables = process.env): URL | undefined {
  const valueOf = (name: string) => [variables[name], variables[name.toUpperCase()]].find(Boolean) ?? '';
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, '');
  if (isLoopback(host)) return undefined;
  const proxy = valueOf(protocol === 'https:' ? 'https_proxy' : 'http_proxy');
  if (proxy === '') return undefined;
  const defaultPort = protocol === 'https:' ? '443' : '80';
  const exempt = valueOf('no_proxy')
    .toLowerCase()
    .split(/[\s,]+/);
  if (exempt.some((entry) => names(entry, { host, port: port || defaultPort }))) return undefined;
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
  if (!URL.canParse(text)) throw new TypeError(`${protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'} is not a URL.`);
  return new URL(text);
}

/** An agent that connects through the proxy configured for each origin in the environment. */
export function createAgent(options: Undici.Agent.Options & { connect: { timeout: number } }): Undici.Agent {
  const { Agent, Pool, ProxyAgent } = require('undici') as typeof Undici;
  const { timeout } = options.connect;
  return new Agent({
    ...options,
    factory(origin, poolOptions: Undici.Pool.Options) {
      const proxy = proxyFor(new URL(origin));
      if (!proxy) return new Pool(origin, poolOptions);
      return new ProxyAgent({ ...poolOptions, uri: proxy.href, proxyTls: { timeout }, requestTls: { timeout } });
    },
  });
}

/** Whether an entry of NO_PROXY (`*`, a host, a domain, an address or a network, with an optional port) matches the host. */
function names(entry: string, { host, port }: { host: string; port: string }): boolean {
  if (entry === '' || entry === '*') return entry === '*';
  const [, bare = entry, ofPort] =
    /^(?:\[?)([^\]]*?)\]?(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  if (ofPort !== undefined && ofPort !== port) return false;
  const [network = '', bits] = bare.split('/');
  if (bits !== undefined && isIP(network) !== 0) {
    return isIP(host) === isIP(network) && isIn(blockList([bare]), host);
  }
  const domain = bare.replace(/^\*?\./, '');
  return host === domain || (isIP(host) === 0 && host.endsWith(`.${domain}`));
}
