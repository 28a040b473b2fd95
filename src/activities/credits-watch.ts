/** Another job has just learned that the app has too few vCredits for such a conversion: asking again would bring nothing. */
export class KnownInsufficientError extends Error {
  override readonly name = 'KnownInsufficientError';
}

interface Shortage {
  /** The newest word of an operator that a refused request knew of. */
  restoredAt: number;
  nextProbeAt: number;
  pauseMs: number;
}

const firstPauseMs = 20_000;
const longestPauseMs = 5 * 60_000;

/**
 * What a worker knows about missing vCredits, by app and kind of conversion: while one job asks for all, the others spend no request to learn
 * the same. An operator's word that credits were restored counts for more than what was seen before it.
 */
export class CreditsWatch {
  readonly #shortages = new Map<string, Shortage>();

  constructor(private readonly now: () => number = Date.now) {}

  /**
   * Takes the right to ask. `restoredAt`: when an operator last said that there are credits again.
   * @throws KnownInsufficientError when another job has asked a moment ago, or is asking.
   */
  probe(kind: string, restoredAt = 0): void {
    const shortage = this.#shortages.get(kind);
    if (!shortage || restoredAt > shortage.restoredAt) return;
    const now = this.now();
    // A clock that was set back must not make anybody wait longer than was meant.
    const isEarly = now < shortage.nextProbeAt && shortage.nextProbeAt - now <= shortage.pauseMs;
    if (isEarly) {
      const seconds = Math.ceil((shortage.nextProbeAt - now) / 1_000);
      throw new KnownInsufficientError(
        `too few vCredits for such a conversion when another job asked; the next one asks in ${seconds} s.`,
      );
    }
    shortage.nextProbeAt = now + shortage.pauseMs;
  }

  /** The service has refused for lack of vCredits. */
  insufficient(kind: string, restoredAt = 0): void {
    const before = this.#shortages.get(kind);
    const now = this.now();
    const pauseMs = before ? Math.min(before.pauseMs * 2, longestPauseMs) : firstPauseMs;
    this.#shortages.set(kind, {
      restoredAt: Math.max(restoredAt, before?.restoredAt ?? 0),
      nextProbeAt: now + pauseMs,
      pauseMs,
    });
  }

  sufficient(kind: string): void {
    this.#shortages.delete(kind);
  }
}
