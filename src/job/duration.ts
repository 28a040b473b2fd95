const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** The units that Temporal's SDK accepts. */
const units: readonly (readonly [RegExp, number])[] = [
  [/^(milliseconds?|msecs?|ms)?$/, 1],
  [/^(seconds?|secs?|s)$/, second],
  [/^(minutes?|mins?|m)$/, minute],
  [/^(hours?|hrs?|h)$/, hour],
  [/^(days?|d)$/, day],
  [/^(weeks?|w)$/, 7 * day],
  [/^(years?|yrs?|y)$/, 365.25 * day],
];

/** Milliseconds from a number of milliseconds or text such as `10 minutes`; NaN for anything else. */
export function durationMs(value: unknown): number {
  if (typeof value !== 'string') return typeof value === 'number' ? value : Number.NaN;
  const [, amount, unit = ''] = /^(-?\d*\.?\d+) *([a-z]*)$/i.exec(value) ?? [];
  const found = units.find(([names]) => names.test(unit.toLowerCase()));
  return Number(amount) * (found?.[1] ?? Number.NaN);
}

const maxYears = 100;

/** Why a value is not a valid policy duration; undefined if it is. */
export function problemOfDuration(value: unknown): string | undefined {
  const milliseconds = durationMs(value);
  if (milliseconds > 0 && milliseconds <= maxYears * 365.25 * day) return undefined;
  return `must be milliseconds above 0 or text such as '10 minutes', at most ${maxYears} years, not ${JSON.stringify(value)}`;
}
