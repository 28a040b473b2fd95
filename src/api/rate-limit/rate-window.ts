/** One window of an allowance, as far as it is known, and how this worker spends it. All times in milliseconds of the caller's clock. */
export interface RateWindow {
  limit: number;
  /** As the service told last, or less. */
  remaining: number;
  /** When it told. */
  toldMs: number;
  endsAtMs: number;
  /** No answer that came at once has told its end yet: it is taken to be like those before it. */
  isPresumed: boolean;
  /** When its first request was sent. */
  readonly beganMs: number;
  readonly lengthMs: number;
  /** Sent here, the first included. */
  own: number;
  underWay: number;
  lastSentMs: number;
  /** After the last request, where others spend too. */
  pauseMs: number;
  /** Whether patient requests were sent in it: then others need not spread theirs. */
  hasPatient: boolean;
}

export type WindowFields = Pick<RateWindow, 'limit' | 'remaining' | 'toldMs' | 'endsAtMs' | 'beganMs' | 'lengthMs'>;

/** A request on its way. */
export interface Sent {
  readonly atMs: number;
  /** The window it was sent in; absent as long as none is known. */
  window: RateWindow | undefined;
  readonly isPatient: boolean;
}

/** What an answer says of the window. */
export interface Told {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
  readonly nowMs: number;
}

/** Whether the next request may be sent now; else when to ask again, at the latest: an answer may bring that moment forward. */
export type Decision = { readonly kind: 'send' } | { readonly kind: 'wait'; readonly untilMs: number };

/** What of an allowance is spread over its window. */
const reserveShare = 0.1;
/** By this part of a window all of that is sent. */
const lastReserved = 0.7;
/** What of an allowance patient requests leave to others, until this part of its window. */
const patientReserveShare = 0.2;
const patientUntil = 0.9;

interface Request {
  readonly nowMs: number;
  readonly isPatient: boolean;
}

/** An answer that takes longer may have been written at its beginning or at its end: what it says of a RESET is then vague. */
const promptMs = 1_000;

export function createWindow(fields: WindowFields): RateWindow {
  const counts = { own: 0, underWay: 0, lastSentMs: fields.toldMs, pauseMs: 0, hasPatient: false };
  return { ...fields, ...counts, isPresumed: true };
}

/** The request is one of this window. */
export function place(sent: Sent, window: RateWindow): void {
  sent.window = window;
  window.own += 1;
  window.underWay += 1;
  window.lastSentMs = sent.atMs;
  window.hasPatient ||= sent.isPatient;
}

/** Both turned out to be one. */
export function merge(window: RateWindow, other: RateWindow): void {
  window.remaining = Math.max(0, Math.min(window.remaining, other.remaining) - other.underWay);
  window.endsAtMs = Math.min(window.endsAtMs, other.endsAtMs);
  window.own += other.own;
  window.hasPatient ||= other.hasPatient;
}

/** Takes in what the answer to a request of this window says. */
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
  // Had it been written when the request was sent, and RESET been rounded up, it would end no sooner.
  const earliestMs = sentMs + resetMs - 1_000;
  const isPossible = window.endsAtMs >= earliestMs && window.endsAtMs <= latestMs;
  if (isPrompt || !isPossible) window.endsAtMs = latestMs;
  window.isPresumed = !isPrompt;
}

/** Where nobody else spends: everything at once, but for the last tenth. */
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

/** Where others spend too: a fair share of what remains, spread over the rest of the window. `endMs` is its end with what is allowed for. */
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

/** How long a fair share of what remains, spread over the rest of the window, lets the next request wait. */
export function pauseAfter(
  window: RateWindow,
  { nowMs, share, endMs, random }: { nowMs: number; share: number; endMs: number; random: number },
): number {
  const mine = Math.max(0.5, share * unspent(window, share, nowMs));
  // Some play, so that workers that began together part; much of it would let several take the last one at once.
  return (Math.max(0, endMs - nowMs) / mine) * (0.75 + random / 2);
}

/** What the service has not promised to anybody here. */
export function leftOf({ remaining, underWay }: RateWindow): number {
  return remaining - underWay;
}

function sendFrom(dueMs: number, nowMs: number): Decision {
  return nowMs >= dueMs ? { kind: 'send' } : { kind: 'wait', untilMs: dueMs };
}

/** What is left by now, when the others spread their part of it as this worker does. */
function unspent({ remaining, toldMs, endsAtMs, underWay }: RateWindow, share: number, nowMs: number): number {
  const passed = (nowMs - toldMs) / Math.max(1, endsAtMs - toldMs);
  return remaining * (1 - (1 - share) * Math.min(1, passed)) - underWay;
}

/** The last one or two of an allowance may be taken already by whoever sends at this very moment. */
function keptBack({ limit }: RateWindow): number {
  return Math.min(2, Math.max(1, limit * reserveShare));
}
