/** The service has just refused the same request of another job, so none is sent. */
export class KnownRefusalError extends Error {
  override readonly name = 'KnownRefusalError';

  constructor(
    readonly refusal: Refusal,
    /** Time until the next job may probe, or until the probe in flight is likely to be answered. */
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
  /** When the app was last said to be ready, as far as the refused job knew. */
  readyAt: number;
  refusedAt: number;
  /** Earliest time at which a parked job may probe. */
  dueAt: number;
  pauseMs: number;
  /** Start of the probe in flight, on behalf of all jobs. */
  askedAt?: number;
}

/** A request whose outcome is shared with other jobs. */
export interface Probe {
  /** Returns the pause of parked jobs, in milliseconds. */
  refused(refusal: Refusal): number;
  /** Whether to notify parked jobs, whose own next probe may be far away. */
  accepted(): boolean;
  /** Must be called in every case, also after a failure. */
  ended(): void;
}

interface Asking {
  /** An account, or one kind of conversion for refusals for lack of vCredits. */
  key: string;
  /** When the app was last said to be ready, as far as the job knows. */
  readyAt?: number | undefined;
  /** Jobs that are not parked trust only a recent refusal, and bring the next probe forward: a user may have just started them. */
  isParked: boolean;
  /** Pause after the first refusal. */
  firstPauseMs?: number;
  /** Probe whatever others have learned. */
  anyway?: boolean;
}

const defaultFirstPauseMs = 60_000;
const maxPauseMs = 3_600_000;
const minLookMs = 5_000;
const recentMs = 20_000;
/** Reached after about 15 minutes of refusals. Avoids waking thousands of jobs each time an app gets a few vCredits. */
const longPauseMs = 600_000;

/**
 * What a worker knows about refusals that concern many jobs. One job probes for all, and the others need no request; the pauses between
 * probes double up to an hour. A later `appReady` overrides older refusals.
 */
export class RefusalWatch {
  readonly #known = new Map<string, Known>();

  constructor(private readonly now: () => number = Date.now) {}

  /** @throws KnownRefusalError if another job has just been refused, or is probing. */
  ask({ key, readyAt = 0, isParked, firstPauseMs = defaultFirstPauseMs, anyway = false }: Asking): Probe {
    const known = this.#known.get(key);
    const isKnown = known !== undefined && readyAt <= known.readyAt;
    const isDue = isKnown && this.#leftMs(known) === 0;
    if (isKnown && !anyway) {
      const { askedAt, refusedAt } = known;
      if (!isParked) known.dueAt = Math.min(known.dueAt, refusedAt + recentMs);
      // A probe may be answered within moments, but takes longer if it is an upload.
      const isAskedMs = askedAt && Math.max(this.now() - askedAt, Math.min(minLookMs, known.pauseMs));
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

  /** Whether the other jobs' next probe is far away. */
  #accepted(key: string): boolean {
    const { pauseMs = 0 } = this.#known.get(key) ?? {};
    this.#known.delete(key);
    return pauseMs > longPauseMs;
  }

  #leftMs({ dueAt, pauseMs }: Known): number {
    const leftMs = Math.max(dueAt - this.now(), 0);
    // A clock that was set back must not lengthen the wait.
    return leftMs <= pauseMs ? leftMs : 0;
  }

  #refused(
    key: string,
    { refusal, readyAt, firstPauseMs, isDue }: Pick<Known, 'refusal' | 'readyAt'> & Pacing,
  ): number {
    const refusedAt = this.now();
    const before = this.#known.get(key);
    if (!before || readyAt > before.readyAt) {
      const pauseMs = Math.min(firstPauseMs, maxPauseMs);
      this.#known.set(key, { refusal, readyAt, refusedAt, dueAt: refusedAt + pauseMs, pauseMs });
      return pauseMs;
    }
    // Refusals of concurrent requests add no information.
    if (isDue) {
      before.pauseMs = Math.min(before.pauseMs * 2, maxPauseMs);
      before.dueAt = refusedAt + before.pauseMs;
    }
    Object.assign(before, { refusal, refusedAt });
    return Math.max(before.dueAt - refusedAt, Math.min(minLookMs, before.pauseMs));
  }
}

interface Pacing {
  firstPauseMs: number;
  /** The request was a probe after the full pause. */
  isDue: boolean;
}
