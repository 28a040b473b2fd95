import type { Endpoint } from '../contract';
import { classOf, type EndpointClass } from './endpoint-class';
import type { RateHeaders } from './headers';
import { RateBucket } from './rate-bucket';

/** How a request stands in line. */
export interface Turn {
  readonly signal?: AbortSignal | undefined;
  /** 1 is served first; default 3. Equals go by `since`. Those behind the default leave a part of each window to the others. */
  readonly priority?: number | undefined;
  /**
   * When it asked for the first time: whoever was turned away comes back to its place. Milliseconds since the epoch, by whatever clock; a moment
   * still ahead counts as now. Default: now.
   */
  readonly since?: number | undefined;
  /** Longest time in line; a request that would wait longer is turned away at once. Default: 30,000. */
  readonly maxWaitMs?: number | undefined;
}

/** A request that was let through. Exactly one of its methods must be called. */
export interface Permit {
  answered(headers: RateHeaders): void;
  /** It was sent, and no answer came. */
  lost(): void;
  /** It was not sent. */
  unsent(): void;
}

/** The wait would be longer than the caller can stay. */
export class TurnedAway extends Error {
  override readonly name = 'TurnedAway';

  constructor(
    /** About when its turn comes. */
    readonly waitMs: number,
    /** After so long it should stand in line again; never before the end of a RETRY-AFTER. */
    readonly comeBackMs: number,
  ) {
    super(`The rate limit is about to let this request through in ${(waitMs / 1_000).toFixed(1)} s`);
  }
}

/** What outlives a process: how long the RETRY-AFTER of each class still lasts, in milliseconds. */
export interface RateMemory {
  load(): Partial<Record<EndpointClass, number>>;
  save(restMs: Partial<Record<EndpointClass, number>>): void;
}

/** The clocks of a gate. */
interface Clocks {
  /** Milliseconds of a clock that nobody sets: all waits go by it. Default: `performance.now()`. */
  readonly now?: () => number;
  /** Milliseconds since the epoch, which places in line are compared with. Default: `Date.now()`. */
  readonly wallNow?: () => number;
}

interface Place {
  readonly priority: number;
  readonly since: number;
  /** What it comes back with: its `since` as it was told. */
  readonly id: number;
}

interface Waiter extends Place {
  /** Ends its wait; one of the two is called, and once. */
  readonly admit: (permit: Permit) => void;
  readonly leave: (reason: Error) => void;
}

/** Someone who was turned away and keeps its place. */
interface Absent extends Place {
  readonly backAtMs: number;
}

/**
 * Whoever was turned away comes back this long before its turn, and at the latest after half of the wait: an estimate may be wrong, since
 * other workers come and go, and an allowance that nobody stands in line for is lost. A long wait so takes a few returns, each half as far.
 */
const headStartMs = 3_000;
const shortestAbsenceMs = 500;
/** Who is taken in must expect to wait no longer than this part of what it can: the estimate may be too short. */
const surePart = 0.8;
/** Temporal is up to a second late; whoever is later than this has gone to another worker or is not coming at all. */
const absenceGraceMs = 2_000;

const defaultPriority = 3;
const defaultMaxWaitMs = 30_000;

/** Where the requests of one app wait until its rate limit lets them through: a line for each class of endpoints. */
export class RateGate {
  readonly #lines = new Map<EndpointClass, Line>();
  readonly #memory: RateMemory | undefined;
  readonly #clocks: Required<Clocks>;
  #closed: Error | undefined;

  constructor({
    memory,
    now = () => performance.now(),
    wallNow = () => Date.now(),
  }: { memory?: RateMemory | undefined } & Clocks = {}) {
    this.#memory = memory;
    this.#clocks = { now, wallNow };
  }

  /**
   * Resolves when the request may be sent.
   * @throws TurnedAway when that would take longer than `maxWaitMs`; the signal's reason when it aborts.
   */
  enter(endpoint: Endpoint, turn: Turn = {}): Promise<Permit> {
    if (this.#closed) return Promise.reject(this.#closed);
    return this.#lineOf(classOf(endpoint)).enter(turn);
  }

  /** The service said, other than by a header, how long nothing of this class may be sent. */
  block(endpoint: Endpoint, seconds: number): void {
    this.#lineOf(classOf(endpoint)).block(seconds);
    this.#remember();
  }

  /** Whoever stands in line, or comes later, fails with this reason. */
  close(reason: Error): void {
    this.#closed = reason;
    for (const line of this.#lines.values()) line.close(reason);
  }

  #lineOf(name: EndpointClass): Line {
    const existing = this.#lines.get(name);
    if (existing) return existing;
    const blockedUntilMs = this.#clocks.now() + (this.#memory?.load()[name] ?? 0);
    const line = new Line(new RateBucket({ blockedUntilMs }), this.#clocks, () => this.#remember());
    this.#lines.set(name, line);
    return line;
  }

  #remember(): void {
    const now = this.#clocks.now();
    const rests = [...this.#lines].map(([name, { bucket }]) => [name, bucket.blockedUntilMs - now] as const);
    this.#memory?.save({ ...this.#memory.load(), ...Object.fromEntries(rests.filter(([, restMs]) => restMs > 0)) });
  }
}

/** Those who wait for one bucket. One timer serves all of them, so a thousand don't wake together. */
class Line {
  readonly #waiters: Waiter[] = [];
  #absent: Absent[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    readonly bucket: RateBucket,
    private readonly clocks: Required<Clocks>,
    private readonly onThrottled: () => void,
  ) {}

  private now(): number {
    return this.clocks.now();
  }

  enter({
    signal,
    priority = defaultPriority,
    since = this.clocks.wallNow(),
    maxWaitMs = defaultMaxWaitMs,
  }: Turn): Promise<Permit> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      // A clock that ran ahead when the others asked must not put whoever asks after them before them for as long as it did.
      const place = { priority, id: since, since: this.#welcomeBack(since) ?? Math.min(since, this.clocks.wallNow()) };
      const waitMs = this.#estimateWaitMs(place);
      if (waitMs > maxWaitMs * surePart) throw this.#turnAway(place, waitMs);

      const leave = (reason: Error): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        settle();
        reject(reason);
      };
      const onAbort = (): void => leave(signal?.reason as Error);
      const patience = setTimeout(() => {
        leave(this.#turnAway(place, this.#estimateWaitMs(waiter)));
      }, maxWaitMs);
      const settle = (): void => {
        clearTimeout(patience);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        ...place,
        leave,
        admit(permit) {
          settle();
          resolve(permit);
        },
      };
      signal?.addEventListener('abort', onAbort);
      const behind = this.#waiters.findIndex((other) => isBefore(place, other));
      this.#waiters.splice(behind === -1 ? this.#waiters.length : behind, 0, waiter);
      this.#advance();
    });
  }

  block(seconds: number): void {
    this.bucket.block(this.now() + seconds * 1_000);
    this.#advance();
  }

  close(reason: Error): void {
    clearTimeout(this.#timer);
    for (const waiter of [...this.#waiters]) waiter.leave(reason);
  }

  /** Lets through whoever may go, and sets the timer for the next. */
  #advance(): void {
    clearTimeout(this.#timer);
    for (;;) {
      const [first] = this.#waiters;
      if (!first) return;
      const now = this.now();
      const isPatient = first.priority > defaultPriority;
      const decision = this.bucket.decide(now, { isPatient });
      if (decision.kind === 'wait') {
        this.#timer = setTimeout(() => this.#advance(), Math.min(longestTimerMs, Math.ceil(decision.untilMs - now)));
        return;
      }
      this.#waiters.shift();
      first.admit(this.#permit(now, isPatient));
    }
  }

  #permit(now: number, isPatient: boolean): Permit {
    const sent = this.bucket.sent(now, { isPatient });
    return {
      answered: (headers) => {
        this.bucket.answered(sent, headers, this.now());
        if (headers.throttled) this.onThrottled();
        this.#advance();
      },
      lost: () => {
        this.bucket.lost(sent);
        this.#advance();
      },
      unsent: () => {
        this.bucket.unsent(sent);
        this.#advance();
      },
    };
  }

  #turnAway(place: Place, waitMs: number): TurnedAway {
    const now = this.now();
    const comeBackMs = Math.max(
      shortestAbsenceMs,
      Math.min(waitMs - headStartMs, waitMs / 2),
      this.bucket.blockedUntilMs - now,
    );
    this.#absent.push({ ...place, backAtMs: now + comeBackMs });
    return new TurnedAway(waitMs, comeBackMs);
  }

  /** Since when it has waited, if it was turned away. */
  #welcomeBack(id: number): number | undefined {
    const now = this.now();
    const own = this.#absent.find((absent) => absent.id === id);
    this.#absent = this.#absent.filter((absent) => absent !== own && now < absent.backAtMs + absenceGraceMs);
    return own?.since;
  }

  #estimateWaitMs(place: Place): number {
    const before = (others: readonly Place[]): number =>
      others.filter((other) => other !== place && !isBefore(place, other)).length;
    return this.bucket.estimateWaitMs(before(this.#waiters) + before(this.#absent), this.now());
  }
}

function isBefore(one: Place, other: Place): boolean {
  return one.priority === other.priority ? one.since < other.since : one.priority < other.priority;
}

/** Longer delays overflow Node's timers. */
const longestTimerMs = 2 ** 31 - 1;
