import type { IncomingHttpHeaders } from 'node:http';
import { parseRetryAfter } from '../../contract/retry-after';
import { defined } from '../../job/defined';

/** What a response says about the rate limit (section "Limits"). Invalid values are absent. */
export interface RateHeaders {
  readonly limit?: number;
  readonly remaining?: number;
  readonly resetSeconds?: number;
  /** Only on a 429; never shortened. */
  readonly retryAfterSeconds?: number;
  /** The request was refused with a 429. */
  readonly throttled: boolean;
}

/** The longest known window is a day; a larger reset is taken for a mistake. */
const maxResetSeconds = 24 * 60 * 60;

export function readRateHeaders(httpStatus: number, headers: IncomingHttpHeaders): RateHeaders {
  const limit = wholeNumber(headers['x-ratelimit-limit']);
  const remaining = wholeNumber(headers['x-ratelimit-remaining']);
  const reset = wholeNumber(headers['x-ratelimit-reset']);
  const throttled = httpStatus === 429;
  const retryAfterSeconds = throttled ? readRetryAfter(headers) : undefined;
  const resetSeconds = reset !== undefined && reset <= maxResetSeconds ? reset : undefined;
  return defined({ throttled, limit: limit === 0 ? undefined : limit, remaining, resetSeconds, retryAfterSeconds });
}

/** A date is compared with the response's own Date header: this machine's clock may be days off. */
export function readRetryAfter(headers: IncomingHttpHeaders): number | undefined {
  const answeredMs = Date.parse(headers.date ?? '');
  return parseRetryAfter(headers['retry-after'], Number.isNaN(answeredMs) ? Date.now() : answeredMs);
}

/** Some gateways write `10.0` or `+10`. */
function wholeNumber(header: string | string[] | undefined): number | undefined {
  const text = typeof header === 'string' ? header.trim() : '';
  return /^\+?\d{1,12}(\.0*)?$/.test(text) ? Number(text) : undefined;
}
