import { shownTime } from '../shared/shown-time';

/**
 * A time for a person, in the time of this machine and in UTC, in which files and `--json` tell it: `2026-11-21 10:25:18 (09:25:18 UTC)`. One time
 * where both are the same.
 */
export function bothTimes(at: number | Date): string {
  const [here, utc] = [localTime(at), shownTime(at)];
  if (here === utc) return `${utc} UTC`;
  return `${here} (${utc.slice(0, 10) === here.slice(0, 10) ? utc.slice(11) : utc} UTC)`;
}

/** `2026-11-21 10:25:18`, in the time zone of this machine. */
export function localTime(at: number | Date): string {
  const date = new Date(at);
  return shownTime(date.getTime() - date.getTimezoneOffset() * 60_000);
}
