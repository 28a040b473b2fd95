import type { IncomingHttpHeaders } from 'node:http';
import { parseRetryAfter } from '../../contract/retry-after';

/** What an answer says about the rate limit (section "Limits"). A value that makes no sense is absent. */
export interface RateHeaders {
  readonly limit?: number;
  readonly remaining?: number;
  readonly resetSeconds?: number;
  /** Of a 429 only, in full. */
  readonly retryAfterSeconds?: number;
  /** The request was refused. */
  readonly throttled: boolean;
}

/** A window of a day is the longest that is known; a reset beyond it is taken for a mistake. */
const maxResetSeconds = 24 * 60 * 60;

export function readRateHeaders(httpStatus: number, headers: IncomingHttpHeaders): RateHeaders {
  const limit = wholeNumber(headers['x-ratelimit-limit']);
  const remaining = wholeNumber(headers['x-ratelimit-remaining']);
  const reset = wholeNumber(headers['x-ratelimit-reset']);
  const throttled = httpStatus === 429;
  const retryAfterSeconds = throttled ? readRetryAfter(headers) : undefined;
  return {
    throttled,
    ...(limit !== undefined && limit > 0 && { limit }),
    ...(remaining !== undefined && { remaining }),
    ...(reset !== undefined && reset <= maxResetSeconds && { resetSeconds: reset }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

/** The service's own clock tells how far away a date is: that of this machine may be days off. */
export function readRetryAfter(headers: IncomingHttpHeaders): number | undefined {
  const answeredMs = Date.parse(headers.date ?? '');
  return parseRetryAfter(headers['retry-after'], Number.isNaN(answeredMs) ? Date.now() : answeredMs);
}

/** Some gateways write `10.0`, or `+10`. */
function wholeNumber(header: string | string[] | undefined): number | undefined {
  const text = typeof header === 'string' ? header.trim() : '';
  return /^\+?\d{1,12}(\.0*)?$/.test(text) ? Number(text) : undefined;
}
