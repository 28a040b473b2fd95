import type { Decision, Request, RateWindow } from './rate-window';
import { patientReserveShare, patientUntil, sendFrom } from './rate-window';

/**
 * When each of a window's requests is due, counted over all workers: evenly over the window; those of patient requests
 * leave the last part to others until the window is nearly over. A window's end is known to the second only, so the
 * timetable ends a little earlier.
 */
const timetablePart = 0.97;
const releasedShare = 1 - patientReserveShare;

/** The number that is due now. */
export function dueNumber({ limit, endsAtMs, lengthMs }: RateWindow, { nowMs, isPatient }: Request): number {
  const part = (1 - (endsAtMs - nowMs) / lengthMs) / timetablePart;
  return limit * Math.min(1, Math.max(0, isPatient ? patientShareAt(part) : part));
}

function dueMs({ limit, endsAtMs, lengthMs }: RateWindow, number: number, isPatient: boolean): number {
  const share = number / limit;
  return endsAtMs - lengthMs * (1 - timetablePart * (isPatient ? patientPartOf(share) : share));
}

function patientShareAt(part: number): number {
  if (part <= patientUntil) return (part * releasedShare) / patientUntil;
  return releasedShare + ((part - patientUntil) * patientReserveShare) / (1 - patientUntil);
}

function patientPartOf(share: number): number {
  if (share <= releasedShare) return (share * patientUntil) / releasedShare;
  return patientUntil + ((share - releasedShare) * (1 - patientUntil)) / patientReserveShare;
}

/**
 * The last request of a window that takes turns. The more workers share it, the less each knows of the others at its
 * end.
 */
export function lastNumber({ limit }: Pick<RateWindow, 'limit'>, every: number): number {
  return (
    limit -
    Math.min(limit * mostSpareShare, Math.max(Math.min(1, limit / 20), limit * spareShare, every ** 2 / (8 * limit)))
  );
}

const spareShare = 0.02;
const mostSpareShare = 0.1;

/**
 * Other workers spend too: each takes one of `every` turns of the timetable, and none that is beyond the window's last.
 * `endMs` includes slack.
 */
export function decideByTurn(
  window: RateWindow,
  { nowMs, isPatient, every, endMs }: Request & { every: number; endMs: number },
): Decision {
  const { limit, number, lastSentMs, lengthMs, hasPatient } = window;
  const isHurried = hasPatient && !isPatient;
  const next = isHurried ? Math.max(number + 1, dueNumber(window, { nowMs, isPatient: true })) : number + every;
  if (next > lastNumber(window, every)) return { kind: 'wait', untilMs: endMs };
  if (isHurried) return { kind: 'send' };
  // The others catch up as well.
  const soonestMs = lastSentMs + (every * lengthMs) / limit / 4;
  return sendFrom(Math.min(Math.max(dueMs(window, next, isPatient), soonestMs), endMs), nowMs);
}
