/** 31 days. A longer wait is taken for a mistake of the service and reduced to this. */
export const maxRetryAfterSeconds = 31 * 24 * 60 * 60;

/**
 * Parses a RETRY-AFTER header (section "Limits"): seconds, or an HTTP date, which some gateways send. Returns whole seconds, rounded up
 * so that the wait is never too short, at most the longest; undefined for anything else.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  const seconds = /^\+?\d+(\.\d*)?$/.test(text) ? Math.ceil(Number(text)) : secondsUntil(text, nowMs);
  return seconds === undefined ? undefined : Math.min(seconds, maxRetryAfterSeconds);
}

/** Parses the hours in the message of a FREE_APP_LIMITED, which may come without a header. Returns whole seconds. */
export function parseHours(message: string): number | undefined {
  const hours = /(?<![\d.-])(\d{1,3}(?:\.\d+)?)\s*hours?\b/i.exec(message)?.[1];
  const seconds = Math.ceil(Number(hours) * 60 * 60);
  return seconds > 0 ? Math.min(seconds, maxRetryAfterSeconds) : undefined;
}

/** Requires the weekday of an HTTP date: `Date.parse` alone would accept many other texts. */
function secondsUntil(text: string, nowMs: number): number | undefined {
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(text)) return undefined;
  // The oldest form has no zone, but means GMT too.
  const atMs = Date.parse(/ \d{4}$/.test(text) ? `${text} GMT` : text);
  if (Number.isNaN(atMs)) return undefined;
  // A date in the past means no wait: the clocks differ, or the response took long.
  return Math.max(0, Math.ceil((atMs - nowMs) / 1000));
}
