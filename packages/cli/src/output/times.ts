import { shownTime } from 'temporal-file-conversion/internal/shared/wording';

/**
 * A time for a person, local and in UTC (as in files and `--json`): `2026-11-21 10:25:18 (09:25:18 UTC)`. Only one where both are
 * the same. `isBrief` leaves out today's date.
 */
export function bothTimes(at: number | Date, { isBrief = false }: { isBrief?: boolean } = {}): string {
  const [here, utc] = [localTime(at), shownTime(at)];
  const today = localTime(Date.now()).slice(0, 10);
  const shown = isBrief && here.startsWith(today) ? here.slice(11) : here;
  if (here === utc) return `${shown} UTC`;
  return `${shown} (${utc.slice(0, 10) === here.slice(0, 10) ? utc.slice(11) : utc} UTC)`;
}

/** `2026-11-21 10:25:18`, in the time zone of this machine. */
function localTime(at: number | Date): string {
  const date = new Date(at);
  return shownTime(date.getTime() - date.getTimezoneOffset() * 60_000);
}

/** Columns of a table with times: this machine's beside UTC, where they differ. */
export function timeHeads(name: string): string[] {
  return isUtc() ? [`${name} (UTC)`] : [`${name} (HERE)`, `${name} (UTC)`];
}

export function timeCells(at: number | Date | undefined): string[] {
  const utc = at === undefined ? '' : shownTime(at);
  return isUtc() ? [utc] : [at === undefined ? '' : localTime(at), utc];
}

function isUtc(): boolean {
  return new Date().getTimezoneOffset() === 0;
}
