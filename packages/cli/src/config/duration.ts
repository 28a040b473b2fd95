const second = 1_000;
const units: readonly { names: readonly string[]; ms: number }[] = [
  { names: ['day', 'days', 'd'], ms: 24 * 3600 * second },
  { names: ['hour', 'hours', 'hr', 'hrs', 'h'], ms: 3600 * second },
  { names: ['minute', 'minutes', 'min', 'mins', 'm'], ms: 60 * second },
  { names: ['second', 'seconds', 'sec', 'secs', 's'], ms: second },
  { names: ['millisecond', 'milliseconds', 'msec', 'msecs', 'ms'], ms: 1 },
];

/** Milliseconds of a text such as `7 days`, `90s` or `1.5 hours`; `undefined` when it is none. Zero is none either. */
export function parseDurationMs(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?) *([a-z]+)$/i.exec(text.trim());
  const name = match?.[2]?.toLowerCase();
  const unit = units.find((each) => name !== undefined && each.names.includes(name));
  if (unit === undefined) return undefined;
  const ms = Math.round(Number(match?.[1]) * unit.ms);
  return ms > 0 && Number.isSafeInteger(ms) ? ms : undefined;
}

/** What `parseDurationMs` reads, in the longest unit that divides the time evenly: `7 days`, `90 seconds`. */
export function writtenDuration(ms: number): string {
  for (const unit of units) {
    const [singular = '', plural = ''] = unit.names;
    if (ms % unit.ms === 0) return ms === unit.ms ? `1 ${singular}` : `${ms / unit.ms} ${plural}`;
  }
  return `${ms} milliseconds`;
}
