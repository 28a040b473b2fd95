/** A wait beyond this is taken for a mistake of the service: 31 days. */
const maxPlausibleSeconds = 31 * 24 * 60 * 60;

/**
 * Reads a RETRY-AFTER header (section "Limits"): integer seconds, or an HTTP date, which some gateways send. Answers whole
 * seconds, rounded up so that the wait is never too short, and undefined for a negative or absurd value.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  const seconds = /^\+?\d+(\.\d*)?$/.test(text) ? Math.ceil(Number(text)) : secondsUntil(text, nowMs);
  return seconds !== undefined && seconds >= 0 && seconds <= maxPlausibleSeconds ? seconds : undefined;
}

/** The wait of a FREE_APP_LIMITED, which is written in hours inside its message and may come without a header. Answers whole seconds. */
export function parseHours(message: string): number | undefined {
  const hours = /(?<![\d.-])(\d{1,3}(?:\.\d+)?)\s*hours?\b/i.exec(message)?.[1];
  const seconds = Math.ceil(Number(hours) * 60 * 60);
  return seconds > 0 && seconds <= maxPlausibleSeconds ? seconds : undefined;
}

/** An HTTP date begins with a weekday; `Date.parse` alone would take many other texts for one. */
function secondsUntil(text: string, nowMs: number): number | undefined {
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(text)) return undefined;
  const atMs = Date.parse(text);
  if (Number.isNaN(atMs)) return undefined;
  // A date that has passed asks for no wait: the clocks differ, or the answer took long.
  return Math.max(0, Math.ceil((atMs - nowMs) / 1000));
}
