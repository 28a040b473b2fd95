import type { RateHeaders } from './headers';
import {
  createWindow,
  type Decision,
  decideAlone,
  decideShared,
  leftOf,
  merge,
  pauseAfter,
  place,
  type RateWindow,
  type Sent,
  type Told,
  update,
  type WindowFields,
} from './rate-window';

export type { Decision, Sent } from './rate-window';

/**
 * What is known of one allowance, and whether a request may be sent now: pure, all times in milliseconds of the caller's clock.
 *
 * Nothing is sent at REMAINING 0 before RESET has passed, nor before the end of a RETRY-AFTER. RESET comes in whole seconds, so every
 * answer of a window bounds its end from above, and the lowest of these bounds counts. A window begins with one request alone, its scout: the
 * answer tells what the window allows. An answer may take minutes, as that to a long upload does. Others wait a second for it; then the window is
 * presumed to be like those before it, and where none is known, one more scout goes each second, until the first of all answers.
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
  #window: RateWindow | undefined;
  /** What windows are like here; the longest RESET tells how long. */
  #usual: { limit: number; lengthMs: number; isTold: boolean } | undefined;
  #blockedUntilMs = 0;
  /** Answers without rate-limit headers: the service has no limit, or does not tell. */
  #silent = false;
  /** Sent while no window was known, and neither answered nor part of a window by now: the oldest first. */
  readonly #scouts = new Set<Sent>();
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

  /** Nobody else was seen to spend from this allowance lately. */
  get isAlone(): boolean {
    return this.#sharedFor === 0;
  }

  /** Nothing is sent before this moment. */
  block(untilMs: number): void {
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, untilMs);
  }

  /** Whether the next request may be sent now; else when to ask again. */
  decide(nowMs: number, { isPatient = false } = {}): Decision {
    if (nowMs < this.#blockedUntilMs) return { kind: 'wait', untilMs: this.#blockedUntilMs };
    if (this.#silent) return { kind: 'send' };
    const window = this.#liveWindow(nowMs) ?? this.#presume(nowMs);
    if (!window) return this.#decideScout(nowMs);
    const endMs = this.#endOf(window);
    if (leftOf(window) <= 0) return { kind: 'wait', untilMs: endMs };
    const request = { nowMs, isPatient };
    return this.#sharedFor > 0
      ? decideShared(window, { ...request, share: this.#share, endMs })
      : decideAlone(window, request);
  }

  /** A request is on its way. Exactly one of `answered`, `lost` and `unsent` follows. */
  sent(nowMs: number, { isPatient = false } = {}): Sent {
    const window = this.#liveWindow(nowMs);
    const sent: Sent = { atMs: nowMs, window: undefined, isPatient };
    if (window) {
      place(sent, window);
      window.pauseMs = this.#pauseAfter(window, nowMs);
    } else if (!this.#silent) this.#scouts.add(sent);
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
    const window = this.#liveWindow(nowMs);
    const told = { limit: limit ?? window?.limit ?? remaining + 1, remaining, resetMs: resetSeconds * 1_000, nowMs };
    this.#usual = {
      limit: told.limit,
      lengthMs: Math.max(this.#usual?.isTold === true ? this.#usual.lengthMs : 0, told.resetMs),
      isTold: true,
    };
    // Sent in an earlier window: what the service says of that one is of no use any more.
    if (sent.window && sent.window !== window) return;
    if (!window) {
      this.#openAsTold(sent, told);
      return;
    }
    update(window, sent.atMs, told);
    if (told.limit - remaining > window.own) this.#noteOtherWorkers(window);
  }

  /** No answer came: the service may have counted the request. */
  lost(sent: Sent): void {
    this.#settle(sent);
    if (sent.window) sent.window.remaining = Math.max(0, sent.window.remaining - 1);
  }

  /** It was answered, and another bucket is told what. */
  settled(sent: Sent): void {
    this.#settle(sent);
  }

  /** It was not sent after all. */
  unsent(sent: Sent): void {
    this.#settle(sent);
    if (sent.window) sent.window.own -= 1;
  }

  /** Another bucket turned out to be the same allowance. What is under way there may be counted or not: it is taken off. */
  absorb(other: RateBucket, nowMs: number): void {
    this.block(other.#blockedUntilMs);
    const mine = this.#liveWindow(nowMs);
    const theirs = other.#liveWindow(nowMs);
    const window = mine ?? theirs;
    if (!window) return;
    for (const scout of [...this.#scouts, ...other.#scouts]) place(scout, window);
    this.#scouts.clear();
    this.#window = window;
    if (mine && theirs) merge(mine, theirs);
    // What seemed to be spent by others was spent here.
    if (window.limit - window.remaining <= window.own) this.#sharedFor = 0;
  }

  /** About how long a request waits that has `ahead` others before it in line. */
  estimateWaitMs(ahead: number, nowMs: number): number {
    const decision = this.decide(nowMs);
    const window = this.#window;
    if (!window || this.#silent) {
      const [scout] = this.#scouts;
      const isLate = scout !== undefined && nowMs >= scout.atMs + patienceMs;
      const others = isLate ? Math.min(ahead * patienceMs, longestGuessMs) : 0;
      return (decision.kind === 'wait' ? decision.untilMs - nowMs : 0) + others;
    }
    const live = nowMs < this.#endOf(window) && nowMs >= this.#blockedUntilMs;
    // Others may run out of work at any time; a line that is dry then is worse than one that is long.
    const share = this.#sharedFor > 0 ? Math.max(leastEstimatedShare, this.#share) : 1;
    const perWindow = Math.max(1, window.limit * share);
    const leftNow = live ? Math.max(0, leftOf(window) * share) : 0;
    if (ahead < leftNow) {
      // Spread over the rest of the window, where others spend too.
      return this.#sharedFor > 0 ? ((this.#endOf(window) - nowMs) * ahead) / leftNow : 0;
    }
    const windows = Math.floor((ahead - leftNow) / perWindow);
    const next = live ? this.#endOf(window) : Math.max(nowMs, this.#blockedUntilMs);
    return Math.max(0, next - nowMs) + windows * window.lengthMs;
  }

  #liveWindow(nowMs: number): RateWindow | undefined {
    const window = this.#window;
    return window && nowMs < this.#endOf(window) ? window : undefined;
  }

  #endOf(window: RateWindow): number {
    return window.endsAtMs + this.#slackMs;
  }

  #decideScout(nowMs: number): Decision {
    const last = [...this.#scouts].at(-1);
    const untilMs = last ? last.atMs + patienceMs : nowMs;
    return nowMs >= untilMs ? { kind: 'send' } : { kind: 'wait', untilMs };
  }

  /** The window that the scout has begun, when its answer is late. */
  #presume(nowMs: number): RateWindow | undefined {
    const [scout] = this.#scouts;
    if (!scout || !this.#usual || nowMs < scout.atMs + patienceMs) return undefined;
    const { limit, lengthMs } = this.#usual;
    const { atMs } = scout;
    const endsAtMs = atMs + lengthMs + underWayMs;
    this.#open({ limit, remaining: limit, toldMs: atMs, endsAtMs, beganMs: atMs, lengthMs });
    return this.#liveWindow(nowMs);
  }

  #openAsTold(sent: Sent, told: Told): void {
    const { limit, remaining, resetMs, nowMs } = told;
    const lengthMs = Math.max(1, resetMs + Math.min(nowMs - sent.atMs, patienceMs));
    this.#scouts.add(sent);
    const endsAtMs = nowMs + resetMs;
    const window = this.#open({ limit, remaining, toldMs: nowMs, endsAtMs, beganMs: sent.atMs, lengthMs });
    window.isPresumed = false;
    window.underWay -= 1;
    if (limit - remaining > window.own) this.#noteOtherWorkers(window);
    window.pauseMs = this.#pauseAfter(window, nowMs);
  }

  #open(fields: WindowFields): RateWindow {
    this.#adaptShare();
    this.#sharedFor = Math.max(0, this.#sharedFor - 1);
    const window = this.#begin(fields);
    window.pauseMs = this.#pauseAfter(window, fields.toldMs);
    return window;
  }

  /** All scouts belong to it. */
  #begin(fields: WindowFields): RateWindow {
    const window = createWindow(fields);
    for (const scout of this.#scouts) place(scout, window);
    this.#scouts.clear();
    this.#window = window;
    return window;
  }

  /**
   * A little more when the allowance went too slowly, a part less when it went fast: that way the workers' shares become alike.
   * The beginning of a window, which is all that a worker with little to send sees of it, tells neither.
   */
  #adaptShare(): void {
    const previous = this.#window;
    if (!previous || this.#sharedFor === 0) return;
    const restOfWindow = Math.max(0, (previous.endsAtMs - previous.toldMs) / previous.lengthMs);
    const slow = previous.remaining / previous.limit > restOfWindow ** 1.5 + unusedShare;
    if (restOfWindow < 0.5) this.#share = clampShare(slow ? this.#share + 0.1 : this.#share * 0.85);
  }

  #noteOtherWorkers(window: RateWindow): void {
    if (this.#sharedFor === 0) this.#share = clampShare(window.own / Math.max(1, window.limit - window.remaining));
    this.#sharedFor = sharedWindows;
  }

  #pauseAfter(window: RateWindow, nowMs: number): number {
    return pauseAfter(window, { nowMs, share: this.#share, endMs: this.#endOf(window), random: this.#random() });
  }

  #throttled(sent: Sent, { limit, retryAfterSeconds, resetSeconds }: RateHeaders, nowMs: number): void {
    // The first request after a reset, and the service says that it comes a moment too early.
    const early = sent.window === undefined && (retryAfterSeconds ?? resetSeconds ?? 2) <= 1;
    if (early && this.#window && this.#window.lengthMs > 2_000) this.#slackMs = Math.min(1_000, this.#slackMs + 250);
    const seconds = retryAfterSeconds ?? resetSeconds;
    this.#mute = seconds === undefined ? this.#mute + 1 : 0;
    const waitMs = seconds === undefined ? Math.min(60_000, 1_000 * 2 ** (this.#mute - 1)) : seconds * 1_000;
    this.block(nowMs + waitMs);
    this.#learnFromRefusal(sent, { limit, waitMs, nowMs });
    if (this.#scouts.size > 0) {
      // Of the window that is used up.
      const fields = { limit: limit ?? this.#scouts.size, remaining: 0, toldMs: nowMs, endsAtMs: nowMs };
      this.#begin({ ...fields, beganMs: nowMs, lengthMs: waitMs });
    }
    this.#endWindow(sent, { limit, nowMs });
  }

  /** How long windows are, where no answer has told yet, and where the first request after one that was presumed is told that it goes on. */
  #learnFromRefusal(refused: Sent, told: { limit: number | undefined; waitMs: number; nowMs: number }): void {
    const { limit, waitMs, nowMs } = told;
    if (limit !== undefined) this.#usual = { lengthMs: waitMs, isTold: false, ...this.#usual, limit };
    const window = this.#window;
    if (!this.#usual || !window?.isPresumed || refused.window) return;
    const goesOn = refused.atMs - window.endsAtMs <= patienceMs && waitMs < this.#usual.lengthMs / 2;
    if (goesOn) this.#usual.lengthMs = Math.max(this.#usual.lengthMs, nowMs + waitMs - window.beganMs);
  }

  /** A request that was refused was not spent. */
  #endWindow(refused: Sent, { limit, nowMs }: { limit: number | undefined; nowMs: number }): void {
    const window = this.#window;
    if (!window) return;
    if (limit !== undefined) window.limit = limit;
    if (refused.window === window) {
      window.own = Math.max(0, window.own - 1);
      window.remaining = 0;
    }
    // Whoever took the rest was not this worker.
    if (window.own < window.limit) this.#noteOtherWorkers(window);
    window.endsAtMs = Math.min(window.endsAtMs, nowMs);
  }

  #settle(sent: Sent): void {
    if (sent.window) sent.window.underWay -= 1;
    this.#scouts.delete(sent);
  }
}

function clampShare(share: number): number {
  return Math.min(1, Math.max(0.1, share));
}

/** For so many windows after others were last seen. */
const sharedWindows = 5;
const leastEstimatedShare = 0.35;
/** So much of an allowance may stay unused before the shares grow. */
const unusedShare = 0.04;
/** So long others wait for the answer to a scout. */
const patienceMs = 1_000;
/** A guess at how long the line is, as long as nobody has answered, is no more than this. */
const longestGuessMs = 10_000;
/** The service's window begins when it has received what was sent. */
const underWayMs = 250;
