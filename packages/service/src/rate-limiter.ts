/** Section "Limits": fixed windows, kept in memory. */

export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds after which the window is over for certain. */
  readonly resetSeconds: number;
  /** This request was one too many. */
  readonly exceeded: boolean;
}

interface Window {
  endsAt: number;
  used: number;
}

const maxWindows = 10_000;

/** Counts requests by key. A window begins with the first request after the last one; its limit may change while it runs. */
export class RateLimiter {
  readonly #windows = new Map<string, Window>();
  readonly #now: () => number;

  /** `now` in milliseconds, from a clock that is never set back. */
  constructor(now: () => number = () => performance.now()) {
    // Whole milliseconds: with fractions a window of 2 s may be a hair longer, and told as 3.
    this.#now = () => Math.floor(now());
  }

  /** Counts one request. A request beyond the limit is not counted: it changes nothing. */
  take(key: string, { limit, windowSeconds }: { limit: number; windowSeconds: number }): RateState {
    const now = this.#now();
    const window = this.#windowAt(key, now, windowSeconds * 1000);
    const exceeded = window.used >= limit;
    if (!exceeded) window.used += 1;
    return {
      limit,
      remaining: Math.max(0, limit - window.used),
      resetSeconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)),
      exceeded,
    };
  }

  #windowAt(key: string, now: number, lengthMs: number): Window {
    const found = this.#windows.get(key);
    if (found && now < found.endsAt) {
      // A window that was made shorter meanwhile is.
      found.endsAt = Math.min(found.endsAt, now + lengthMs);
      return found;
    }
    const window = { endsAt: now + lengthMs, used: 0 };
    this.#windows.delete(key);
    this.#windows.set(key, window);
    if (this.#windows.size > maxWindows) this.#makeRoom(now);
    return window;
  }

  /** Windows stand in the order in which they began. */
  #makeRoom(now: number): void {
    for (const [key, { endsAt }] of this.#windows) {
      if (endsAt > now && this.#windows.size <= maxWindows) return;
      this.#windows.delete(key);
    }
  }
}
