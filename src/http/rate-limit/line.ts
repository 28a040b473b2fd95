import type { EndpointClass } from '../../contract/endpoints';
import type { RateBucket } from './rate-bucket';

export interface Turn {
  readonly signal?: AbortSignal | undefined;
  /** 1 is served first; default 3. Ties go by `since`. Values above 3 leave part of each window to the others. */
  readonly priority?: number | undefined;
  /**
   * When the request was first made, in milliseconds since the epoch by any clock: a request that was turned away
   * returns to its place. A moment in the future counts as now. Default: now.
   */
  readonly since?: number | undefined;
  /** Longest wait; a request that would wait longer is turned away at once. Default: 30,000. */
  readonly maxWaitMs?: number | undefined;
}

/** The wait would be longer than the caller can stay. */
export class RateLimitWaitError extends Error {
  override readonly name = 'RateLimitWaitError';

  constructor(
    /** Estimated time until its turn. */
    readonly waitMs: number,
    /** When to enter the line again; never before the end of a RETRY-AFTER. */
    readonly retryAfterMs: number,
  ) {
    super(`The rate limit is about to let this request through in ${(waitMs / 1_000).toFixed(1)} s`);
  }
}

export interface Clocks {
  /** Milliseconds of a monotonic clock; all waits use it. */
  readonly now: () => number;
  /** Milliseconds since the epoch; places in line are compared with it. */
  readonly wallNow: () => number;
}

/** Lets a request of this class through now. */
type Admit<Permit> = (name: EndpointClass, request: { nowMs: number; isPatient: boolean }) => Permit;

interface Place {
  readonly name: EndpointClass;
  readonly priority: number;
  readonly since: number;
  /** Breaks ties between equal `since` values. */
  readonly arrival: number;
  /** The `since` that the caller passed; identifies a request that returns. */
  readonly id: number;
}

interface Waiter<Permit> extends Place {
  /** Changes when lines are joined or split while the request waits. */
  line: WaitingLine<Permit>;
  /** Ends the wait at its maximum; absent for a request that is let through at once. */
  patience?: NodeJS.Timeout;
  /** Ends the wait; exactly one of the two is called, once. */
  readonly admit: (permit: Permit) => void;
  readonly leave: (reason: Error) => void;
}

interface Absent extends Place {
  readonly backAtMs: number;
}

/**
 * A request that was turned away returns this long before its turn, and at the latest after half of its wait: the
 * estimate may be wrong, since other workers start and stop, and allowance is lost while the line is empty. A long wait
 * therefore takes several returns, each half as far away.
 */
const headStartMs = 3_000;
const minAbsenceMs = 500;
/** A request is admitted only if its estimated wait is below this part of its maximum: estimates may be too short. */
const surePart = 0.8;
/** Temporal may be up to a second late; a request later than this went to another worker or is not coming back. */
const absenceGraceMs = 2_000;

const defaultPriority = 3;
const defaultMaxWaitMs = 30_000;

/**
 * The requests that wait for one bucket, of one endpoint class or of several that share it. Classes take turns, so that
 * neither polls nor uploads starve the others. One timer serves the whole line, so that a thousand waiters do not wake
 * at once.
 */
export class WaitingLine<Permit> {
  readonly #queues = new Map<EndpointClass, Waiter<Permit>[]>();
  #absent: Absent[] = [];
  /** Classes, least recently served first. */
  #served: EndpointClass[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    readonly bucket: RateBucket,
    private readonly clocks: Clocks,
    private readonly issue: Admit<Permit>,
  ) {}

  enter(name: EndpointClass, turn: Turn): Promise<Permit> {
    const { signal, priority = defaultPriority, maxWaitMs = defaultMaxWaitMs } = turn;
    const since = turn.since ?? this.clocks.wallNow();
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      // A `since` from a clock that ran ahead is capped at now; otherwise later requests would overtake this one.
      const before = this.#takeAbsence(since);
      const place = {
        name,
        priority,
        id: since,
        since: before?.since ?? Math.min(since, this.clocks.wallNow()),
        arrival: before?.arrival ?? (arrivals += 1),
      };
      const waitMs = this.#estimateWaitMs(place);
      if (waitMs > maxWaitMs * surePart) throw this.#deferred(place, waitMs);

      const leave = (reason: Error): void => {
        settle();
        const queue = waiter.line.#queueOf(name);
        queue.splice(queue.indexOf(waiter), 1);
        reject(reason);
      };
      const onAbort = (): void => leave(signal?.reason as Error);
      const settle = (): void => {
        clearTimeout(waiter.patience);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter<Permit> = {
        ...place,
        line: this,
        leave,
        admit(permit) {
          settle();
          resolve(permit);
        },
      };
      const queue = this.#queueOf(name);
      const behind = queue.findIndex((other) => isBefore(place, other));
      queue.splice(behind === -1 ? queue.length : behind, 0, waiter);
      this.advance();
      if (!queue.includes(waiter)) return;
      signal?.addEventListener('abort', onAbort);
      waiter.patience = setTimeout(() => {
        leave(waiter.line.#deferred(place, waiter.line.#estimateWaitMs(waiter)));
      }, maxWaitMs);
    });
  }

  block(untilMs: number): void {
    this.bucket.block(untilMs);
    this.advance();
  }

  close(reason: Error): void {
    clearTimeout(this.#timer);
    for (const queue of this.#queues.values()) for (const waiter of [...queue]) waiter.leave(reason);
  }

  /** Takes over all requests of the other line, and what is known of its bucket. */
  join(other: WaitingLine<Permit>): void {
    clearTimeout(other.#timer);
    this.bucket.absorb(other.bucket, this.clocks.now());
    for (const name of [...other.#queues.keys()]) this.takeOver(name, other);
  }

  takeOver(name: EndpointClass, other: WaitingLine<Permit>): void {
    const moving = other.#queues.get(name) ?? [];
    other.#queues.delete(name);
    for (const waiter of moving) waiter.line = this;
    this.#queues.set(name, moving);
    this.#absent.push(...other.#absent.filter((absent) => absent.name === name));
    other.#absent = other.#absent.filter((absent) => absent.name !== name);
  }

  /** Lets through every request that may go, and sets the timer for the next. */
  advance(): void {
    clearTimeout(this.#timer);
    for (;;) {
      const first = this.#first();
      if (!first) return;
      const nowMs = this.clocks.now();
      const isPatient = first.priority > defaultPriority;
      const decision = this.bucket.decide(nowMs, { isPatient });
      if (decision.kind === 'wait') {
        this.#timer = setTimeout(() => this.advance(), Math.min(maxTimerMs, Math.ceil(decision.untilMs - nowMs)));
        return;
      }
      const { name } = first;
      this.#queueOf(name).shift();
      this.#served = [...this.#served.filter((each) => each !== name), name];
      first.admit(this.issue(name, { nowMs, isPatient }));
    }
  }

  #first(): Waiter<Permit> | undefined {
    let first: Waiter<Permit> | undefined;
    for (const [name, [head]] of this.#queues) {
      if (!head) continue;
      const isNext =
        !first ||
        head.priority < first.priority ||
        (head.priority === first.priority && this.#served.indexOf(name) < this.#served.indexOf(first.name));
      if (isNext) first = head;
    }
    return first;
  }

  #queueOf(name: EndpointClass): Waiter<Permit>[] {
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    return queue;
  }

  #deferred(place: Place, waitMs: number): RateLimitWaitError {
    const now = this.clocks.now();
    const retryAfterMs = Math.max(
      minAbsenceMs,
      Math.min(waitMs - headStartMs, waitMs / 2),
      this.bucket.blockedUntilMs - now,
    );
    this.#absent.push({ ...place, backAtMs: now + retryAfterMs });
    return new RateLimitWaitError(waitMs, retryAfterMs);
  }

  #takeAbsence(id: number): Absent | undefined {
    const now = this.clocks.now();
    const own = this.#absent.find((absent) => absent.id === id);
    this.#absent = this.#absent.filter((absent) => absent !== own && now < absent.backAtMs + absenceGraceMs);
    return own;
  }

  #estimateWaitMs(place: Place): number {
    const others = [...this.#queues.values(), this.#absent].flat().filter((other) => other !== place);
    const own = others.filter((other) => other.name === place.name && !isBefore(place, other)).length;
    let ahead = own;
    for (const name of this.#queues.keys()) {
      if (name === place.name) continue;
      const rivals = others.filter((other) => other.name === name);
      ahead += rivals.filter(({ priority }) => priority < place.priority).length;
      // Classes take turns.
      ahead += Math.min(rivals.filter(({ priority }) => priority === place.priority).length, own);
    }
    return this.bucket.estimateWaitMs(ahead, this.clocks.now());
  }
}

function isBefore(one: Place, other: Place): boolean {
  if (one.priority !== other.priority) return one.priority < other.priority;
  return one.since === other.since ? one.arrival < other.arrival : one.since < other.since;
}

let arrivals = 0;

/** Longer delays overflow Node's timers. */
const maxTimerMs = 2 ** 31 - 1;
