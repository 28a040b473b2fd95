import type { RateHeaders } from './headers';
import {
  createWindow,
  type Decision,
  decideAlone,
  decideByTurn,
  leftOf,
  merge,
  place,
  spentByOthers,
  type RateWindow,
  type Sent,
  type ReportedWindow,
  update,
  type WindowFields,
} from './rate-window';
import { maxAtFirst, Turns } from './turns';

export type { Decision, Sent } from './rate-window';

/**
 * What is known of one allowance, and whether a request may be sent now. Pure; all times in milliseconds of the
 * caller's clock.
 *
 * Nothing is sent at REMAINING 0 before RESET has passed, nor before the end of a RETRY-AFTER. RESET comes in whole
 * seconds, so every response in a window is an upper bound for its end, and the lowest bound counts. A window starts
 * with a single request, the probe, whose response says what the window allows. A response may take minutes, for
 * example to a long upload, so others wait only a second for it. Then the window is presumed to be like earlier ones;
 * if none is known, one more probe is sent each second until one is answered.
 *
 * Other workers may spend from the same allowance: REMAINING then falls by more than was sent here. From then on
 * requests take turns with theirs. The last tenth is always spread, so that a worker that joins late finds some
 * allowance left and is noticed.
 *
 * A patient request, such as one of a batch, leaves that last part alone until the window is nearly over, so that an
 * urgent request in the middle of a window still finds some allowance.
 */
export class RateBucket {
  #window: RateWindow | undefined;
  /** The usual window; the longest RESET gives its length. */
  #typical: { limit: number; lengthMs: number; isReported: boolean } | undefined;
  #blockedUntilMs = 0;
  /** Responses have no rate-limit headers: the service has no limit or does not report it. */
  #silent = false;
  /** Requests sent while no window was known, not yet answered or assigned to a window; oldest first. */
  readonly #probes = new Set<Sent>();
  readonly #turns = new Turns();
  /** How much later than RESET the service's window seems to end. */
  #slackMs = 0;
  /** Consecutive 429s that did not say how long to wait. */
  #mute = 0;
  readonly #random: () => number;

  constructor({ random = Math.random, blockedUntilMs = 0 }: { random?: () => number; blockedUntilMs?: number } = {}) {
    this.#random = random;
    this.#blockedUntilMs = blockedUntilMs;
  }

  get blockedUntilMs(): number {
    return this.#blockedUntilMs;
  }

  /** No other worker was recently seen to spend from this allowance. */
  get isAlone(): boolean {
    return this.#turns.isAlone;
  }

  block(untilMs: number): void {
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, untilMs);
  }

  decide(nowMs: number, { isPatient = false } = {}): Decision {
    if (nowMs < this.#blockedUntilMs) return { kind: 'wait', untilMs: this.#blockedUntilMs };
    if (this.#silent) return { kind: 'send' };
    const window = this.#liveWindow(nowMs) ?? this.#presume(nowMs);
    if (!window) return this.#decideProbe(nowMs, isPatient);
    const endMs = this.#endOf(window);
    if (leftOf(window) <= 0) return { kind: 'wait', untilMs: endMs };
    const request = { nowMs, isPatient };
    return this.#turns.isAlone
      ? decideAlone(window, request)
      : decideByTurn(window, { ...request, every: this.#turns.every, endMs });
  }

  /** Records a request as sent. Exactly one of `answered`, `lost`, `settled` and `unsent` follows. */
  sent(nowMs: number, { isPatient = false } = {}): Sent {
    const window = this.#liveWindow(nowMs);
    const sent: Sent = { atMs: nowMs, window: undefined, isPatient };
    if (window) {
      this.#turns.take(sent, window);
      place(sent, window);
    } else if (!this.#silent) {
      this.#turns.takeFirst(sent);
      this.#probes.add(sent);
    }
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
    const live = this.#liveWindow(nowMs);
    const reported = { limit: limit ?? live?.limit ?? remaining + 1, remaining, resetMs: resetSeconds * 1_000, nowMs };
    this.#typical = {
      limit: reported.limit,
      lengthMs: Math.max(this.#typical?.isReported === true ? this.#typical.lengthMs : 0, reported.resetMs),
      isReported: true,
    };
    // Sent in an earlier window, so its headers are out of date.
    if (sent.window && sent.window !== live) return;
    if (live) update(live, sent.atMs, reported);
    const window = live ?? this.#openReported(sent, reported);
    this.#turns.answered(sent, window, reported);
    this.#planFirst(window);
  }

  /** No response came: the service may have counted the request. */
  lost(sent: Sent): void {
    this.#settle(sent);
    if (sent.window) sent.window.remaining = Math.max(0, sent.window.remaining - 1);
  }

  /** The response was passed to another bucket. */
  settled(sent: Sent): void {
    this.#settle(sent);
  }

  unsent(sent: Sent): void {
    this.#settle(sent);
    if (sent.window) sent.window.own -= 1;
  }

  /** Another bucket proved to be the same allowance. Its requests in flight, counted or not, are subtracted. */
  absorb(other: RateBucket, nowMs: number): void {
    this.block(other.#blockedUntilMs);
    const mine = this.#liveWindow(nowMs);
    const theirs = other.#liveWindow(nowMs);
    const window = mine ?? theirs;
    if (!window) return;
    for (const probe of [...this.#probes, ...other.#probes]) place(probe, window);
    this.#probes.clear();
    this.#window = window;
    if (mine && theirs) merge(mine, theirs);
    // The apparent spending of other workers was our own.
    if (spentByOthers(window) <= 0) this.#turns.nobodyElse();
  }

  /** Estimated wait of a request with `ahead` others before it in line. */
  estimateWaitMs(ahead: number, nowMs: number): number {
    const decision = this.decide(nowMs);
    const window = this.#window;
    if (!window || this.#silent) {
      const [probe] = this.#probes;
      const isLate = probe !== undefined && nowMs >= probe.atMs + patienceMs;
      const others = isLate ? Math.min(ahead * patienceMs, maxGuessMs) : 0;
      return (decision.kind === 'wait' ? decision.untilMs - nowMs : 0) + others;
    }
    const live = nowMs < this.#endOf(window) && nowMs >= this.#blockedUntilMs;
    // Other workers may run out of work at any time; an empty line is then worse than a long one.
    const { isAlone } = this;
    const share = isAlone ? 1 : Math.max(minEstimatedShare, 1 / this.#turns.every);
    const perWindow = Math.max(1, window.limit * share);
    const leftNow = live ? Math.max(0, leftOf(window) * share) : 0;
    if (ahead < leftNow) {
      // Spread over the rest of the window if other workers spend too.
      return isAlone ? 0 : ((this.#endOf(window) - nowMs) * ahead) / leftNow;
    }
    const windows = Math.floor((ahead - leftNow) / perWindow);
    const next = live ? this.#endOf(window) : decision.kind === 'wait' ? decision.untilMs : nowMs;
    return Math.max(0, next - nowMs) + windows * window.lengthMs;
  }

  #liveWindow(nowMs: number): RateWindow | undefined {
    const window = this.#window;
    return window && nowMs < this.#endOf(window) ? window : undefined;
  }

  #endOf(window: RateWindow): number {
    return window.endsAtMs + this.#slackMs;
  }

  #decideProbe(nowMs: number, isPatient: boolean): Decision {
    const last = [...this.#probes].at(-1);
    const isHurried = this.#window?.hasPatient === true && !isPatient;
    const untilMs = last ? last.atMs + patienceMs : isHurried ? nowMs : this.#turns.firstDueMs();
    return nowMs >= untilMs ? { kind: 'send' } : { kind: 'wait', untilMs };
  }

  /** The window that the probe presumably started, if its response is late. */
  #presume(nowMs: number): RateWindow | undefined {
    const [probe] = this.#probes;
    if (!probe || !this.#typical || nowMs < probe.atMs + patienceMs) return undefined;
    const { limit, lengthMs } = this.#typical;
    const { atMs } = probe;
    const endsAtMs = atMs + lengthMs + underWayMs;
    this.#turns.windowOpened();
    this.#begin({ limit, remaining: limit, endsAtMs, beganMs: atMs, lengthMs });
    return this.#liveWindow(nowMs);
  }

  #openReported(sent: Sent, reported: ReportedWindow): RateWindow {
    const { limit, remaining, resetMs, nowMs } = reported;
    const { lengthMs: usualMs = 0 } = this.#typical ?? {};
    // The first response ever may come in the middle of a window from which others, or this very app, have already spent.
    const isFirst = this.#window === undefined;
    const lengthMs = Math.max(1, resetMs + Math.min(nowMs - sent.atMs, patienceMs), usualMs);
    this.#probes.add(sent);
    this.#turns.windowOpened();
    const window = this.#begin({ limit, remaining, endsAtMs: nowMs + resetMs, beganMs: sent.atMs, lengthMs });
    window.isPresumed = false;
    window.underWay -= 1;
    const before = limit - remaining - window.own;
    // So few may also be the first requests of workers that have just started.
    if (isFirst && before > maxAtFirst) window.before = before;
    return window;
  }

  #begin(fields: WindowFields): RateWindow {
    const window = createWindow(fields);
    for (const probe of this.#probes) place(probe, window);
    this.#probes.clear();
    this.#window = window;
    return window;
  }

  #planFirst(window: RateWindow, next?: number): void {
    const { lengthMs } = this.#typical ?? window;
    const endMs = Math.max(this.#endOf(window), this.#blockedUntilMs);
    this.#turns.planFirst(window, { lengthMs, endMs, ...(next !== undefined && { next }) });
  }

  #throttled(sent: Sent, { limit, retryAfterSeconds, resetSeconds }: RateHeaders, nowMs: number): void {
    // The first request after a reset was refused as slightly too early.
    const early = sent.window === undefined && (retryAfterSeconds ?? resetSeconds ?? 2) <= 1;
    if (early && this.#window && this.#window.lengthMs > 2_000) this.#slackMs = Math.min(1_000, this.#slackMs + 250);
    const seconds = retryAfterSeconds ?? resetSeconds;
    this.#mute = seconds === undefined ? this.#mute + 1 : 0;
    const waitMs = seconds === undefined ? Math.min(60_000, 1_000 * 2 ** (this.#mute - 1)) : seconds * 1_000;
    this.block(nowMs + waitMs);
    this.#learnFromRefusal(sent, { limit, waitMs, nowMs });
    this.#turns.refused();
    if (this.#probes.size > 0) {
      // The probes belong to the window that is used up.
      const fields = { limit: limit ?? this.#probes.size, remaining: 0, endsAtMs: nowMs };
      this.#begin({ ...fields, beganMs: nowMs, lengthMs: waitMs });
    }
    this.#endWindow(sent, { limit, nowMs });
  }

  /** Learns how long windows are from a refusal, if no response has said so or a presumed window proves to continue. */
  #learnFromRefusal(refused: Sent, reported: { limit: number | undefined; waitMs: number; nowMs: number }): void {
    const { limit, waitMs, nowMs } = reported;
    if (limit !== undefined) this.#typical = { lengthMs: waitMs, isReported: false, ...this.#typical, limit };
    const window = this.#window;
    if (!this.#typical || !window?.isPresumed || refused.window) return;
    const goesOn = refused.atMs - window.endsAtMs <= patienceMs && waitMs < this.#typical.lengthMs / 2;
    if (goesOn) this.#typical.lengthMs = Math.max(this.#typical.lengthMs, nowMs + waitMs - window.beganMs);
  }

  /** Ends the window after a refusal; the refused request was not spent. */
  #endWindow(refused: Sent, { limit, nowMs }: { limit: number | undefined; nowMs: number }): void {
    const window = this.#window;
    if (!window) return;
    if (limit !== undefined) window.limit = limit;
    if (refused.window === window) {
      window.own = Math.max(0, window.own - 1);
      window.remaining = 0;
    }
    // Other workers spent the rest.
    if (window.own + window.before < window.limit) this.#turns.othersSeen(window);
    window.endsAtMs = Math.min(window.endsAtMs, nowMs);
    // Workers that were refused together must not return together.
    this.#planFirst(window, this.#turns.every * this.#random());
  }

  #settle(sent: Sent): void {
    if (sent.window) sent.window.underWay -= 1;
    this.#probes.delete(sent);
  }
}

const minEstimatedShare = 0.35;
/** How long other requests wait for a probe's response. */
const patienceMs = 1_000;
/** Upper bound for the estimated wait as long as no response has come. */
const maxGuessMs = 10_000;
/** The service's window starts when the request arrives, up to this long after it was sent. */
const underWayMs = 250;
