import type { RateHeaders } from './headers';

/**
 * What is known of one allowance, and whether a request may be sent now: pure, all times in milliseconds of the caller's clock.
 *
 * Nothing is sent at REMAINING 0 before RESET has passed, nor before the end of a RETRY-AFTER. RESET comes in whole seconds, so every
 * answer of a window bounds its end from above, and the lowest of these bounds counts. A window begins with one request alone: its answer
 * tells what the window allows.
 *
 * Others may spend the same allowance: REMAINING then falls by more than was sent here. From then on requests are spread: the next one is due when a
 * fair share of what remains, spread over the rest of the window, brings it. Whatever the shares add up to, that slows down before the
 * allowance is used up, so nobody is refused, and nobody needs to know how many others there are. The last tenth is always spread,
 * so that a worker that comes late finds something left, and is seen.
 *
 * A patient request, such as one of a batch, leaves that last part alone until the window is nearly over: an urgent one that comes in the middle of
 * a window finds something left too.
 */
export class RateBucket {
  #window: Window | undefined;
  #blockedUntilMs = 0;
  /** Answers without rate-limit headers: the service has no limit, or does not tell. */
  #silent = false;
  #probe: Sent | undefined;
  /** What part of the allowance is spent here, where others spend too. */
  #share = 0.5;
  /** Windows for which others are still expected to spend from this allowance. */
  #sharedFor = 0;
  /** What the service's clock seems to be behind its own RESET. */
  #slackMs = 0;
  /** 429s in a row that did not say how long to wait. */
  #mute = 0;
  readonly #random: () => number;

  constructor({ random = Math.random, blockedUntilMs = 0 }: { random?: () => number; blockedUntilMs?: number } = {}) {
    this.#random = random;
    this.#blockedUntilMs = blockedUntilMs;
  }

  /** The end of the last RETRY-AFTER. */
  get blockedUntilMs(): number {
    return this.#blockedUntilMs;
  }

  /** Nothing is sent before this moment. */
  block(untilMs: number): void {
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, untilMs);
  }

  /** Whether the next request may be sent now; else when to ask again. */
  decide(nowMs: number, { isPatient = false } = {}): Decision {
    if (nowMs < this.#blockedUntilMs) return { kind: 'wait', untilMs: this.#blockedUntilMs };
    if (this.#silent) return { kind: 'send' };
    const window = this.#liveWindow(nowMs);
    if (!window) return this.#probe ? { kind: 'awaitAnswer' } : { kind: 'send' };
    const left = window.remaining - window.underWay;
    if (left <= 0) {
      // An answer that is still to come may bring more.
      return window.underWay > 0 && window.remaining > 0
        ? { kind: 'awaitAnswer' }
        : { kind: 'wait', untilMs: this.#endOf(window) };
    }
    return this.#sharedFor > 0
      ? this.#decideShared(window, nowMs, isPatient)
      : decideAlone(window, { left, nowMs, isPatient });
  }

  /** A request is on its way. Exactly one of `answered`, `lost` and `unsent` follows. */
  sent(nowMs: number, { isPatient = false } = {}): Sent {
    const window = this.#liveWindow(nowMs);
    const sent: Sent = { atMs: nowMs, window, isPatient };
    if (window) {
      window.own += 1;
      window.hasPatient ||= isPatient;
      window.underWay += 1;
      window.pauseMs = this.#pauseAfter(window, nowMs);
      window.lastSentMs = nowMs;
    } else if (!this.#silent) this.#probe = sent;
    return sent;
  }

  answered(sent: Sent, headers: RateHeaders, nowMs: number): void {
    this.#settle(sent);
    if (headers.throttled) {
      this.#throttled(sent, headers, nowMs);
      return;
    }
    this.#mute = 0;
    const { limit, remaining, resetSeconds } = headers;
    if (remaining === undefined || resetSeconds === undefined) {
      this.#silent = this.#window === undefined;
      return;
    }
    this.#silent = false;
    // Sent in an earlier window: what the service says of that one is of no use any more.
    if (sent.window && sent.window !== this.#liveWindow(nowMs)) return;
    const endsAtMs = nowMs + resetSeconds * 1_000;
    const window = this.#liveWindow(nowMs);
    if (!window) {
      this.#open({ sent, limit: limit ?? remaining + 1, remaining, endsAtMs, nowMs });
      return;
    }
    if (remaining <= window.remaining) {
      window.remaining = remaining;
      window.toldMs = nowMs;
    }
    window.endsAtMs = Math.min(window.endsAtMs, endsAtMs);
    if (limit !== undefined) window.limit = limit;
    if (window.limit - remaining > window.own) this.#meetOthers(window);
  }

  /** No answer came: the service may have counted the request. */
  lost(sent: Sent): void {
    this.#settle(sent);
    if (sent.window) sent.window.remaining = Math.max(0, sent.window.remaining - 1);
  }

  /** It was not sent after all. */
  unsent(sent: Sent): void {
    this.#settle(sent);
    if (sent.window) sent.window.own -= 1;
  }

  /** About how long a request waits that has `ahead` others before it in line. */
  estimateWaitMs(ahead: number, nowMs: number): number {
    const decision = this.decide(nowMs);
    const window = this.#window;
    if (!window || this.#silent) return decision.kind === 'wait' ? decision.untilMs - nowMs : 0;
    const live = nowMs < this.#endOf(window) && nowMs >= this.#blockedUntilMs;
    // Others may run out of work at any time; a line that is dry then is worse than one that is long.
    const share = this.#sharedFor > 0 ? Math.max(leastEstimatedShare, this.#share) : 1;
    const perWindow = Math.max(1, window.limit * share);
    const leftNow = live ? Math.max(0, (window.remaining - window.underWay) * share) : 0;
    if (ahead < leftNow) {
      // Spread over the rest of the window, where others spend too.
      return this.#sharedFor > 0 ? ((this.#endOf(window) - nowMs) * ahead) / leftNow : 0;
    }
    const windows = Math.floor((ahead - leftNow) / perWindow);
    const next = live ? this.#endOf(window) : Math.max(nowMs, this.#blockedUntilMs);
    return Math.max(0, next - nowMs) + windows * window.lengthMs;
  }

  #liveWindow(nowMs: number): Window | undefined {
    const window = this.#window;
    return window && nowMs < this.#endOf(window) ? window : undefined;
  }

  #endOf(window: Window): number {
    return window.endsAtMs + this.#slackMs;
  }

  #open(fields: { sent: Sent; limit: number; remaining: number; endsAtMs: number; nowMs: number }): void {
    const previous = this.#window;
    if (previous && this.#sharedFor > 0) {
      // A little more when the allowance went too slowly, a part less when it went fast: that way the workers' shares become alike.
      // The beginning of a window, which is all that a worker with little to send sees of it, tells neither.
      const restOfWindow = Math.max(0, (previous.endsAtMs - previous.toldMs) / previous.lengthMs);
      const slow = previous.remaining / previous.limit > restOfWindow ** 1.5 + unusedShare;
      if (restOfWindow < 0.5) this.#share = clampShare(slow ? this.#share + 0.1 : this.#share * 0.85);
    }
    this.#sharedFor = Math.max(0, this.#sharedFor - 1);
    const { sent, limit, remaining, endsAtMs, nowMs } = fields;
    const startedMs = sent.atMs;
    const lengthMs = Math.max(1, endsAtMs - startedMs);
    this.#window = {
      limit,
      remaining,
      toldMs: nowMs,
      endsAtMs,
      lengthMs,
      own: 1,
      underWay: 0,
      lastSentMs: startedMs,
      pauseMs: 0,
      hasPatient: sent.isPatient,
    };
    if (limit - remaining > 1) this.#meetOthers(this.#window);
    this.#window.pauseMs = this.#pauseAfter(this.#window, nowMs);
  }

  #meetOthers(window: Window): void {
    if (this.#sharedFor === 0) this.#share = clampShare(window.own / Math.max(1, window.limit - window.remaining));
    this.#sharedFor = sharedWindows;
  }

  /** How long a fair share of what remains, spread over the rest of the window, lets the next request wait. */
  #pauseAfter(window: Window, nowMs: number): number {
    const rest = Math.max(0, this.#endOf(window) - nowMs);
    const mine = Math.max(0.5, this.#share * unspent(window, this.#share, nowMs));
    // Some play, so that workers that began together part; much of it would let several take the last one at once.
    return (rest / mine) * (0.75 + this.#random() / 2);
  }

  #decideShared(window: Window, nowMs: number, isPatient: boolean): Decision {
    const endMs = this.#endOf(window);
    const isHurried = window.hasPatient && !isPatient;
    const dueMs = isHurried ? nowMs : window.lastSentMs + window.pauseMs;
    const left = unspent(window, this.#share, nowMs);
    const releasedMs = window.endsAtMs - window.lengthMs * (1 - patientUntil);
    if (isPatient && nowMs < releasedMs && left < keptBack(window) + Math.max(1, window.limit * patientReserveShare)) {
      return { kind: 'wait', untilMs: Math.min(releasedMs, endMs) };
    }
    if (left >= keptBack(window)) {
      return nowMs >= dueMs ? { kind: 'send' } : { kind: 'wait', untilMs: Math.min(dueMs, endMs) };
    }
    return window.underWay > 0 ? { kind: 'awaitAnswer' } : { kind: 'wait', untilMs: endMs };
  }

  #throttled(sent: Sent, { retryAfterSeconds, resetSeconds }: RateHeaders, nowMs: number): void {
    // The first request after a reset, and the service says that it comes a moment too early.
    const early = sent.window === undefined && (retryAfterSeconds ?? resetSeconds ?? 2) <= 1;
    if (early && this.#window && this.#window.lengthMs > 2_000) this.#slackMs = Math.min(1_000, this.#slackMs + 250);
    const seconds = retryAfterSeconds ?? resetSeconds;
    this.#mute = seconds === undefined ? this.#mute + 1 : 0;
    const waitMs = seconds === undefined ? Math.min(60_000, 1_000 * 2 ** (this.#mute - 1)) : seconds * 1_000;
    this.block(nowMs + waitMs);
    const window = this.#window;
    if (!window) return;
    // A request that was refused was not spent.
    if (sent.window === window) {
      window.own = Math.max(0, window.own - 1);
      window.remaining = 0;
    }
    // Whoever took the rest was not this worker.
    this.#meetOthers(window);
    window.endsAtMs = Math.min(window.endsAtMs, nowMs);
  }

  #settle(sent: Sent): void {
    if (sent.window) sent.window.underWay -= 1;
    if (this.#probe === sent) this.#probe = undefined;
  }
}

/** Everything at once, but for the last tenth. */
function decideAlone(
  { own, endsAtMs, lengthMs, hasPatient }: Window,
  { left, nowMs, isPatient }: { left: number; nowMs: number; isPatient: boolean },
): Decision {
  const mine = own + left;
  const reserve = mine < 3 ? 0 : Math.max(1, Math.round(mine * (isPatient ? patientReserveShare : reserveShare)));
  const reserved = own - (mine - reserve);
  const isHurried = hasPatient && !isPatient;
  if (reserved < 0 || isHurried) return { kind: 'send' };
  const part = isPatient ? patientUntil : (lastReserved * (reserved + 1)) / reserve;
  const dueMs = endsAtMs - lengthMs * (1 - part);
  return nowMs >= dueMs ? { kind: 'send' } : { kind: 'wait', untilMs: dueMs };
}

/** What is left by now, when the others spread their part of it as this worker does. */
function unspent({ remaining, toldMs, endsAtMs, underWay }: Window, share: number, nowMs: number): number {
  const passed = (nowMs - toldMs) / Math.max(1, endsAtMs - toldMs);
  return remaining * (1 - (1 - share) * Math.min(1, passed)) - underWay;
}

/** The last one or two of an allowance may be taken already by whoever sends at this very moment. */
function keptBack({ limit }: Window): number {
  return Math.min(2, Math.max(1, limit * reserveShare));
}

function clampShare(share: number): number {
  return Math.min(1, Math.max(0.1, share));
}

/** A request on its way. */
export interface Sent {
  readonly atMs: number;
  /** The window it was sent in; absent when none was known. */
  readonly window: Window | undefined;
  readonly isPatient: boolean;
}

export type Decision =
  | { readonly kind: 'send' }
  | { readonly kind: 'wait'; readonly untilMs: number }
  /** The answer of a request that is under way decides. */
  | { readonly kind: 'awaitAnswer' };

interface Window {
  limit: number;
  /** As the service told last, or less. */
  remaining: number;
  /** When it told. */
  toldMs: number;
  endsAtMs: number;
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

/** For so many windows after others were last seen. */
const sharedWindows = 5;
/** What of an allowance is spread over its window. */
const reserveShare = 0.1;
/** By this part of a window all of that is sent. */
const lastReserved = 0.7;
/** What of an allowance patient requests leave to others, until this part of its window. */
const patientReserveShare = 0.2;
const patientUntil = 0.9;
const leastEstimatedShare = 0.35;
/** So much of an allowance may stay unused before the shares grow. */
const unusedShare = 0.04;
