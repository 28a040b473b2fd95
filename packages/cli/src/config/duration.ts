import { durationMs } from 'temporal-file-conversion/job';

/** Milliseconds of a text such as `7 days`, `90s` or `1.5 hours`; `undefined` if it is no duration, or zero. */
export function parseDurationMs(text: string): number | undefined {
  const ms = Math.round(durationMs(text.trim()));
  return /[a-z]\s*$/i.test(text) && ms > 0 && Number.isSafeInteger(ms) ? ms : undefined;
}

const units = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1_000 };

/** The inverse of `parseDurationMs`, in the longest unit that divides the time evenly: `7 days`, `90 seconds`. */
export function writtenDuration(ms: number): string {
  const [unit, unitMs] = Object.entries(units).find(([, each]) => ms % each === 0) ?? ['millisecond', 1];
  return `${ms / unitMs} ${unit}${ms === unitMs ? '' : 's'}`;
}
