/** Who can reach an address, which proxy the environment names for a URL, and how long something may take. */
export { isLoopback, reachOf } from './addresses';
export type { Reach } from './addresses';
export { createAgent, proxyFor } from './proxy';
export type { ProxyVariables } from './proxy';
export { limitTime } from './time-limit';
export type { TimeLimit } from './time-limit';
