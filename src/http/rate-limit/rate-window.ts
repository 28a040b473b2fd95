/** What is known of one window of an allowance, and how much of it was spent here. Times in milliseconds of the caller's clock. */
export interface RateWindow {
  limit: number;
  /** REMAINING as last reported by the service, or less. */
  remaining: number;
  endsAtMs: number;
  /** No prompt response has reported its end yet: it is assumed to be like earlier windows. */
  isPresumed: boolean;
  /** When its first request was sent. */
  readonly beganMs: number;
  readonly lengthMs: number;
  /** Requests sent here, including the first. */
  own: number;
  /** Spent before the first response that reported any window; nobody knows by whom. */
  before: number;
  underWay: number;
  lastSentMs: number;
  /** Number of the last request sent here among those of all workers in this window, as reported or estimated. */
  number: number;
  /** Whether patient requests were sent in it; other requests then need not be spread. */
  hasPatient: boolean;
}

export type WindowFields = Pick<RateWindow, 'limit' | 'remaining' | 'endsAtMs' | 'beganMs' | 'lengthMs'>;

export interface Sent {
  readonly atMs: number;
  /** The window it was sent in; absent while none is known. */
  window: RateWindow | undefined;
  readonly isPatient: boolean;
  /** Number of requests sent here in its window so far, itself included. */
  ordinal?: number;
  /** The number it was meant to have, if it waited for its turn. */
  turn?: number;
}

export interface ReportedWindow {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
  readonly nowMs: number;
}

/** Whether the next request may be sent now, or when to ask again at the latest: a response may bring that forward. */
export type Decision = { readonly kind: 'send' } | { readonly kind: 'wait'; readonly untilMs: number };

/** The part of an allowance that is spread over its window. */
const reserveShare = 0.1;
/** A worker that is alone has sent all but the reserve by this part of the window. */
const soonPart = 0.1;
/** By this part of the window the whole reserve has been sent. */
const lastReserved = 0.7;
/** The part of an allowance that patient requests leave to others until `patientUntil` of its window. */
const patientReserveShare = 0.2;
const patientUntil = 0.9;

interface Request {
  readonly nowMs: number;
  readonly isPatient: boolean;
}

/** A slower response may have been written at the start or at the end of the wait, so its RESET is imprecise. */
export const promptMs = 1_000;

export function createWindow(fields: WindowFields): RateWindow {
  const { limit, remaining, beganMs } = fields;
  const counts = { own: 0, before: 0, underWay: 0, lastSentMs: beganMs, number: limit - remaining, hasPatient: false };
  return { ...fields, ...counts, isPresumed: true };
}

/** Requests that others have certainly spent. */
export function spentByOthers({ limit, remaining, before, own }: RateWindow): number {
  return limit - remaining - before - own;
}

export function place(sent: Sent, window: RateWindow): void {
  sent.window = window;
  window.own += 1;
  window.underWay += 1;
  sent.ordinal = window.own;
  window.lastSentMs = sent.atMs;
  window.hasPatient ||= sent.isPatient;
}

export function merge(window: RateWindow, other: RateWindow): void {
  window.remaining = Math.max(0, Math.min(window.remaining, other.remaining) - other.underWay);
  window.endsAtMs = Math.min(window.endsAtMs, other.endsAtMs);
  window.own += other.own;
  window.before = Math.min(window.before, other.before);
  window.number = Math.max(window.number, other.number);
  window.hasPatient ||= other.hasPatient;
}

export function update(window: RateWindow, sentMs: number, { limit, remaining, resetMs, nowMs }: ReportedWindow): void {
  window.limit = limit;
  window.remaining = Math.min(window.remaining, remaining);
  const latestMs = nowMs + resetMs;
  if (!window.isPresumed) {
    window.endsAtMs = Math.min(window.endsAtMs, latestMs);
    return;
  }
  const isPrompt = nowMs - sentMs <= promptMs;
  // Even if it was written when the request was sent and RESET was rounded up, the window ends no sooner than this.
  const earliestMs = sentMs + resetMs - 1_000;
  const isPossible = window.endsAtMs >= earliestMs && window.endsAtMs <= latestMs;
  if (isPrompt || !isPossible) window.endsAtMs = latestMs;
  window.isPresumed = !isPrompt;
}

/**
 * No other worker spends: sends everything soon, except for the last tenth. Not at once, because others may start in the same window, and
 * show up only in the responses to later requests.
 */
export function decideAlone(window: RateWindow, { nowMs, isPatient }: Request): Decision {
  const { limit, own, underWay, beganMs, endsAtMs, lengthMs, hasPatient } = window;
  const mine = own + leftOf(window);
  const reserve = mine < 3 ? 0 : Math.max(1, Math.round(mine * (isPatient ? patientReserveShare : reserveShare)));
  const reserved = own - (mine - reserve);
  const isHurried = hasPatient && !isPatient;
  if (isHurried) return { kind: 'send' };
  const answersMs = underWay < own - underWay ? nowMs : Math.max(nowMs, beganMs + promptMs);
  if (reserved < 0) return sendFrom(Math.max(beganMs + (lengthMs * soonPart * own) / limit, answersMs), nowMs);
  const part = isPatient ? patientUntil : (lastReserved * (reserved + 1)) / reserve;
  return sendFrom(endsAtMs - lengthMs * (1 - part), nowMs);
}

/** Requests that remain after those in flight. */
export function leftOf({ remaining, underWay }: RateWindow): number {
  return remaining - underWay;
}

function sendFrom(dueMs: number, nowMs: number): Decision {
  return nowMs >= dueMs ? { kind: 'send' } : { kind: 'wait', untilMs: dueMs };
}

/**
 * When each request of a window is due, counted over all workers: evenly over the window; patient requests leave the last part to others
 * until the window is nearly over. The end of a window is known only to the second, so the timetable ends a little earlier.
 */
const timetablePart = 0.97;
const releasedShare = 1 - patientReserveShare;

/** The number of the request that is due now. */
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

/** The last request of a window that takes turns. The more workers share a window, the less each knows about the others at its end. */
export function lastNumber({ limit }: Pick<RateWindow, 'limit'>, every: number): number {
  return (
    limit -
    Math.min(limit * maxSpareShare, Math.max(Math.min(1, limit / 20), limit * spareShare, every ** 2 / (8 * limit)))
  );
}

const spareShare = 0.02;
const maxSpareShare = 0.1;

/** Other workers spend too: each takes one of `every` turns of the timetable, and none beyond the window's last. `endMs` includes slack. */
export function decideByTurn(
  window: RateWindow,
  { nowMs, isPatient, every, endMs }: Request & { every: number; endMs: number },
): Decision {
  const { limit, number, lastSentMs, lengthMs, hasPatient } = window;
  const isHurried = hasPatient && !isPatient;
  const next = isHurried ? Math.max(number + 1, dueNumber(window, { nowMs, isPatient: true })) : number + every;
  if (next > lastNumber(window, every)) return { kind: 'wait', untilMs: endMs };
  if (isHurried) return { kind: 'send' };
  // After a delay the other workers catch up, too.
  const soonestMs = lastSentMs + (every * lengthMs) / limit / 4;
  return sendFrom(Math.min(Math.max(dueMs(window, next, isPatient), soonestMs), endMs), nowMs);
}
