import type { Endpoint } from '../contract/endpoints';
import type { ClientErrorCode } from './errors';

/** Called for every request of a client; its methods must neither throw nor block. */
export interface RequestObserver {
  /** A request has left the line at the rate limit: let through, turned away or aborted. */
  waited(wait: { endpoint: Endpoint; seconds: number }): void;
  /** Response headers have arrived, or certainly won't. Each request of a redirect chain is reported. */
  answered(answer: { endpoint: Endpoint; status: number | ClientErrorCode; seconds: number }): void;
  /** Bytes of a file were sent or received; the transfer may have failed. */
  transferred(transfer: { direction: 'up' | 'down'; bytes: number }): void;
}
