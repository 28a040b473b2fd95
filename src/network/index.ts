/** Reach of addresses, proxies from the environment, and time limits. */
export { isLoopback, reachOf } from './addresses';
export type { Reach } from './addresses';
export { createAgent, proxyFor } from './proxy';
export type { ProxyVariables } from './proxy';
export { limitTime } from './time-limit';
export type { TimeLimit } from './time-limit';
