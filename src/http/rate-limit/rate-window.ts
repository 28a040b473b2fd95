/** One window of an allowance, as far as known, and what is spent of it here. Times in ms of the caller's clock. */
export interface RateWindow {
  limit: number;
  /** The value last reported by the service, or less. */
  remaining: number;
  /** When `remaining` was reported. */
  toldMs: number;
  endsAtMs: number;
  /** No prompt response has reported its end yet: it is assumed to be like earlier windows. */
  isPresumed: boolean;
  /** When its first request was sent. */
  readonly beganMs: number;
  readonly lengthMs: number;
  /** Requests sent here, including the first. */
  own: number;
  underWay: number;
  lastSentMs: number;
  /** Pause after the last request if other workers spend too. */
  pauseMs: number;
  /** Whether patient requests were sent in it; then the others need not be spread. */
  hasPatient: boolean;
}

export type WindowFields = Pick<RateWindow, 'limit' | 'remaining' | 'toldMs' | 'endsAtMs' | 'beganMs' | 'lengthMs'>;

export interface Sent {
  readonly atMs: number;
  /** The window it was sent in; absent while none is known. */
  window: RateWindow | undefined;
  readonly isPatient: boolean;
}

export interface Told {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
  readonly nowMs: number;
}

/** Whether the next request may be sent now, or when to ask again at the latest: a response may bring that forward. */
export type Decision = { readonly kind: 'send' } | { readonly kind: 'wait'; readonly untilMs: number };

/** The part of an allowance that is spread over its window. */
const reserveShare = 0.1;
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
const promptMs = 1_000;

export function createWindow(fields: WindowFields): RateWindow {
  const counts = { own: 0, underWay: 0, lastSentMs: fields.toldMs, pauseMs: 0, hasPatient: false };
  return { ...fields, ...counts, isPresumed: true };
}

export function place(sent: Sent, window: RateWindow): void {
  sent.window = window;
  window.own += 1;
  window.underWay += 1;
  window.lastSentMs = sent.atMs;
  window.hasPatient ||= sent.isPatient;
}

export function merge(window: RateWindow, other: RateWindow): void {
  window.remaining = Math.max(0, Math.min(window.remaining, other.remaining) - other.underWay);
  window.endsAtMs = Math.min(window.endsAtMs, other.endsAtMs);
  window.own += other.own;
  window.hasPatient ||= other.hasPatient;
}

export function update(window: RateWindow, sentMs: number, { limit, remaining, resetMs, nowMs }: Told): void {
  window.limit = limit;
  if (remaining <= window.remaining) {
    window.remaining = remaining;
    window.toldMs = nowMs;
  }
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

/** No other worker spends: sends everything at once, except for the last tenth. */
export function decideAlone(window: RateWindow, { nowMs, isPatient }: Request): Decision {
  const { own, endsAtMs, lengthMs, hasPatient } = window;
  const mine = own + leftOf(window);
  const reserve = mine < 3 ? 0 : Math.max(1, Math.round(mine * (isPatient ? patientReserveShare : reserveShare)));
  const reserved = own - (mine - reserve);
  const isHurried = hasPatient && !isPatient;
  if (reserved < 0 || isHurried) return { kind: 'send' };
  const part = isPatient ? patientUntil : (lastReserved * (reserved + 1)) / reserve;
  return sendFrom(endsAtMs - lengthMs * (1 - part), nowMs);
}

/** Other workers spend too: spreads a fair share of the rest over the rest of the window. `endMs` includes slack. */
export function decideShared(
  window: RateWindow,
  { nowMs, isPatient, share, endMs }: Request & { share: number; endMs: number },
): Decision {
  const { limit, endsAtMs, lengthMs, lastSentMs, pauseMs, hasPatient } = window;
  const left = unspent(window, share, nowMs);
  const kept = keptBack(window);
  const releasedMs = endsAtMs - lengthMs * (1 - patientUntil);
  if (isPatient && nowMs < releasedMs && left < kept + Math.max(1, limit * patientReserveShare)) {
    return { kind: 'wait', untilMs: Math.min(releasedMs, endMs) };
  }
  if (left < kept) return { kind: 'wait', untilMs: endMs };
  const isHurried = hasPatient && !isPatient;
  return sendFrom(isHurried ? nowMs : Math.min(lastSentMs + pauseMs, endMs), nowMs);
}

/** How long the next request waits if a fair share of what remains is spread over the rest of the window. */
export function pauseAfter(
  window: RateWindow,
  { nowMs, share, endMs, random }: { nowMs: number; share: number; endMs: number; random: number },
): number {
  const mine = Math.max(0.5, share * unspent(window, share, nowMs));
  // Some jitter separates workers that started together; more would let several take the last request at once.
  return (Math.max(0, endMs - nowMs) / mine) * (0.75 + random / 2);
}

/** What remains after the requests in flight. */
export function leftOf({ remaining, underWay }: RateWindow): number {
  return remaining - underWay;
}

function sendFrom(dueMs: number, nowMs: number): Decision {
  return nowMs >= dueMs ? { kind: 'send' } : { kind: 'wait', untilMs: dueMs };
}

/** What is left by now if other workers spread their part as this one does. */
function unspent({ remaining, toldMs, endsAtMs, underWay }: RateWindow, share: number, nowMs: number): number {
  const passed = (nowMs - toldMs) / Math.max(1, endsAtMs - toldMs);
  return remaining * (1 - (1 - share) * Math.min(1, passed)) - underWay;
}

/** The last one or two requests of an allowance may already be taken by a worker that is sending right now. */
function keptBack({ limit }: RateWindow): number {
  return Math.min(2, Math.max(1, limit * reserveShare));
}
