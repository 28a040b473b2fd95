import type { Endpoint } from '../contract/endpoints';
import type { ClientErrorCode } from './errors';

/** Told of every request of a client as it happens; must neither throw nor wait. */
export interface RequestObserver {
  /** A request has left the line at the rate limit: let through, turned away or given up. */
  waited(wait: { endpoint: Endpoint; seconds: number }): void;
  /** The head of an answer is in, or it is certain that none comes. Each request of a chain of redirects is one. */
  answered(answer: { endpoint: Endpoint; status: number | ClientErrorCode; seconds: number }): void;
  /** Bytes of a file have gone up or come down, of which the transfer may have failed. */
  transferred(transfer: { direction: 'up' | 'down'; bytes: number }): void;
}
