/** The service has just refused the same to another job, so no request is sent. */
export class KnownRefusalError extends Error {
  override readonly name = 'KnownRefusalError';

  constructor(
    readonly refusal: Refusal,
    /** Until the next job may ask, or the one that asks is likely to have its answer. */
    readonly waitMs: number,
  ) {
    super(refusal.message);
  }
}

interface Refusal {
  code: string;
  message: string;
}

interface Known {
  refusal: Refusal;
  /** When the app was last said to be ready, as known to a refused request. */
  readyAt: number;
  refusedAt: number;
  /** From when on a parked job may ask. */
  dueAt: number;
  pauseMs: number;
  /** Since when one job asks for all. */
  askedAt?: number;
}

/** A request that others may learn from. */
export interface Probe {
  /** Returns the pause of parked jobs, in milliseconds. */
  refused(refusal: Refusal): number;
  /** Whether parked jobs are to be told: by themselves they would ask much later. */
  accepted(): boolean;
  /** To be called in the end, whatever became of it. */
  ended(): void;
}

interface Asking {
  /** What is refused: an account, or vCredits for one kind of conversion. */
  key: string;
  /** When the app was last said to be ready, as far as the job knows. */
  readyAt?: number | undefined;
  /** Another job takes only a recent refusal for its own, and the next probe is soon then: somebody may have just started it. */
  isParked: boolean;
  /** Pause after the first refusal. */
  firstPauseMs?: number;
  /** Asks whatever others have learned. */
  anyway?: boolean;
}

const usualFirstPauseMs = 60_000;
const longestPauseMs = 3_600_000;
const shortestLookMs = 5_000;
const recentMs = 20_000;
/** Reached after a quarter of an hour of refusals: an app that gets vCredits now and then does not wake thousands of jobs for each. */
const longPauseMs = 600_000;

/**
 * What a worker knows of refusals that concern many jobs: one job asks for all, so that the others need no request, after
 * pauses that double up to an hour. A person's word that the app is ready overrides older refusals.
 */
export class RefusalWatch {
  readonly #known = new Map<string, Known>();

  constructor(private readonly now: () => number = Date.now) {}

  /** @throws KnownRefusalError when another job has just been refused, or is asking. */
  ask({ key, readyAt = 0, isParked, firstPauseMs = usualFirstPauseMs, anyway = false }: Asking): Probe {
    const known = this.#known.get(key);
    const isKnown = known !== undefined && readyAt <= known.readyAt;
    const isDue = isKnown && this.#leftMs(known) === 0;
    if (isKnown && !anyway) {
      const { askedAt, refusedAt } = known;
      if (!isParked) known.dueAt = Math.min(known.dueAt, refusedAt + recentMs);
      // The answer to one that asks may come in a moment; an upload takes longer.
      const isAskedMs = askedAt && Math.max(this.now() - askedAt, Math.min(shortestLookMs, known.pauseMs));
      const waitMs = isAskedMs ?? this.#leftMs(known);
      if (waitMs > 0) throw new KnownRefusalError(known.refusal, waitMs);
      known.askedAt = this.now();
    }
    return {
      refused: (refusal) => this.#refused(key, { refusal, readyAt, firstPauseMs, isDue }),
      accepted: () => this.#accepted(key) && isKnown,
      ended: () => {
        if (isKnown && !anyway) delete known.askedAt;
      },
    };
  }

  /** Whether the others would ask much later. */
  #accepted(key: string): boolean {
    const { pauseMs = 0 } = this.#known.get(key) ?? {};
    this.#known.delete(key);
    return pauseMs > longPauseMs;
  }

  #leftMs({ dueAt, pauseMs }: Known): number {
    const leftMs = Math.max(dueAt - this.now(), 0);
    // A clock that was set back must not make the wait longer than intended.
    return leftMs <= pauseMs ? leftMs : 0;
  }

  #refused(
    key: string,
    { refusal, readyAt, firstPauseMs, isDue }: Pick<Known, 'refusal' | 'readyAt'> & Pacing,
  ): number {
    const refusedAt = this.now();
    const before = this.#known.get(key);
    if (!before || readyAt > before.readyAt) {
      const pauseMs = Math.min(firstPauseMs, longestPauseMs);
      this.#known.set(key, { refusal, readyAt, refusedAt, dueAt: refusedAt + pauseMs, pauseMs });
      return pauseMs;
    }
    // Refusals of requests that were under way together say nothing new.
    if (isDue) {
      before.pauseMs = Math.min(before.pauseMs * 2, longestPauseMs);
      before.dueAt = refusedAt + before.pauseMs;
    }
    Object.assign(before, { refusal, refusedAt });
    return Math.max(before.dueAt - refusedAt, Math.min(shortestLookMs, before.pauseMs));
  }
}

interface Pacing {
  firstPauseMs: number;
  /** The request was a probe after the whole pause. */
  isDue: boolean;
}
