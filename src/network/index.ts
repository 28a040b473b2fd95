/** Who can reach an address, and which proxy the environment names for a URL. */
export { isLoopback, reachOf } from './addresses';
export type { Reach } from './addresses';
export { createAgent, proxyFor } from './proxy';
export type { ProxyVariables } from './proxy';
