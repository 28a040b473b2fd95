/** Another job has just learned that the app has too few vCredits for such a conversion, so no request is sent. */
export class KnownInsufficientError extends Error {
  override readonly name = 'KnownInsufficientError';
}

interface Shortage {
  /** When credits were last reported restored, as known to a refused request. */
  restoredAt: number;
  nextProbeAt: number;
  pauseMs: number;
  /** A job asks for all since the last refusal. Refusals of requests that were under way before say nothing new. */
  isProbed: boolean;
}

const firstPauseMs = 20_000;
const longestPauseMs = 5 * 60_000;

/**
 * What a worker knows about missing vCredits, by app and kind of conversion: one job probes for all, so that the others
 * need no request. An operator's report that credits were restored overrides older refusals.
 */
export class CreditsWatch {
  readonly #shortages = new Map<string, Shortage>();

  constructor(private readonly now: () => number = Date.now) {}

  /**
   * Claims the next probe. `restoredAt`: when an operator last reported restored credits.
   * @throws KnownInsufficientError when another job has just probed, or is probing.
   */
  probe(kind: string, restoredAt = 0): void {
    const shortage = this.#shortages.get(kind);
    if (!shortage || restoredAt > shortage.restoredAt) return;
    const now = this.now();
    // A clock that was set back must not make the wait longer than intended.
    const isEarly = now < shortage.nextProbeAt && shortage.nextProbeAt - now <= shortage.pauseMs;
    if (isEarly) {
      const seconds = Math.ceil((shortage.nextProbeAt - now) / 1_000);
      throw new KnownInsufficientError(
        `too few vCredits for such a conversion when another job asked; the next one asks in ${seconds} s.`,
      );
    }
    shortage.nextProbeAt = now + shortage.pauseMs;
    shortage.isProbed = true;
  }

  /** Records a refusal for lack of vCredits. */
  insufficient(kind: string, restoredAt = 0): void {
    const before = this.#shortages.get(kind);
    const now = this.now();
    const { pauseMs: lastMs = firstPauseMs, isProbed = false } = before ?? {};
    const pauseMs = isProbed ? Math.min(lastMs * 2, longestPauseMs) : lastMs;
    this.#shortages.set(kind, {
      restoredAt: Math.max(restoredAt, before?.restoredAt ?? 0),
      nextProbeAt: now + pauseMs,
      pauseMs,
      isProbed: false,
    });
  }

  sufficient(kind: string): void {
    this.#shortages.delete(kind);
  }
}
