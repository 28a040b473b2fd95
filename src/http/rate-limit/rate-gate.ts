import { classOfEndpoint, type Endpoint, type EndpointClass, endpointClasses } from '../../contract/endpoints';
import type { RateHeaders } from './headers';
import { type Clocks, WaitingLine, type Turn } from './line';
import { RateBucket, type Sent } from './rate-bucket';
import { type Before, SharedWindows } from './shared-windows';

export { RateLimitWaitError, type Turn } from './line';

/** A request that was let through. Exactly one of its methods must be called. */
export interface Permit {
  answered(headers: RateHeaders): void;
  /** The request was sent, but no response came. */
  lost(): void;
  unsent(): void;
}

/** What survives a restart: how long each class's RETRY-AFTER still lasts, in milliseconds. */
export interface RateMemory {
  load(): Partial<Record<EndpointClass, number>>;
  save(restMs: Partial<Record<EndpointClass, number>>): void;
}

interface Request {
  readonly name: EndpointClass;
  readonly bucket: RateBucket;
  readonly sent: Sent;
  readonly before: Before;
}

/** When one class is refused, a class that may share its window waits just as long, but at most this long. */
const maxHoldMs = 60_000;

/**
 * Where the requests of one app wait until its rate limit lets them through: one line per endpoint class, or one for
 * several classes whose responses describe the same window. As long as that is unknown, a 429 holds all of them back.
 */
export class RateGate {
  readonly #lines = new Map<EndpointClass, WaitingLine<Permit>>();
  readonly #windows = new SharedWindows();
  readonly #memory: RateMemory | undefined;
  readonly #clocks: Clocks;
  #closed: Error | undefined;

  /** The clocks default to `performance.now` and `Date.now`. */
  constructor({
    memory,
    now = () => performance.now(),
    wallNow = () => Date.now(),
  }: { memory?: RateMemory | undefined } & Partial<Clocks> = {}) {
    this.#memory = memory;
    this.#clocks = { now, wallNow };
  }

  /**
   * Resolves when the request may be sent.
   * @throws RateLimitWaitError if that takes longer than `maxWaitMs`; the reason of the signal or of `close`.
   */
  enter(endpoint: Endpoint, turn: Turn = {}): Promise<Permit> {
    if (this.#closed) return Promise.reject(this.#closed);
    const name = classOfEndpoint(endpoint);
    return this.#lineOf(name).enter(name, turn);
  }

  /** Blocks this class for a wait that the service gave other than in a header. It says nothing about a window. */
  block(endpoint: Endpoint, seconds: number): void {
    const name = classOfEndpoint(endpoint);
    const untilMs = this.#clocks.now() + seconds * 1_000;
    if (this.#isJoined(name)) this.#part(name, new RateBucket({ blockedUntilMs: untilMs }));
    this.#lineOf(name).block(untilMs);
    this.#remember();
  }

  /** All waiting and later requests fail with this reason. */
  close(reason: Error): void {
    this.#closed = reason;
    for (const line of new Set(this.#lines.values())) line.close(reason);
  }

  #lineOf(name: EndpointClass): WaitingLine<Permit> {
    const existing = this.#lines.get(name);
    if (existing) return existing;
    const blockedUntilMs = this.#clocks.now() + (this.#memory?.load()[name] ?? 0);
    return this.#begin(name, new RateBucket({ blockedUntilMs }));
  }

  #begin(name: EndpointClass, bucket: RateBucket): WaitingLine<Permit> {
    const line = new WaitingLine<Permit>(bucket, this.#clocks, (each, { nowMs, isPatient }) =>
      this.#permit({
        name: each,
        bucket,
        sent: bucket.sent(nowMs, { isPatient }),
        before: this.#windows.before(nowMs),
      }),
    );
    this.#lines.set(name, line);
    return line;
  }

  #permit(request: Request): Permit {
    const { bucket, sent } = request;
    const settle = (report: () => void): void => {
      report();
      for (const line of new Set(this.#lines.values())) line.advance();
    };
    return {
      answered: (headers) => settle(() => this.#answered(request, headers)),
      lost: () => settle(() => bucket.lost(sent)),
      unsent: () => settle(() => bucket.unsent(sent)),
    };
  }

  #answered(request: Request, headers: RateHeaders): void {
    const { name, bucket, sent, before } = request;
    const nowMs = this.#clocks.now();
    const { bucket: current } = this.#lineOf(name);
    if (current === bucket) bucket.answered(sent, headers, nowMs);
    else {
      // Sent before lines were joined or split.
      bucket.settled(sent);
      current.answered({ ...sent, window: undefined }, headers, nowMs);
    }
    if (headers.throttled) this.#holdBack(name, nowMs);
    for (const { other, isShared } of this.#windows.answered(name, before, { headers, nowMs })) {
      if (isShared) this.#join(name, other);
      else if (this.#lineOf(name) === this.#lineOf(other)) {
        const own = new RateBucket();
        own.answered(own.sent(sent.atMs, sent), headers, nowMs);
        this.#part(name, own);
      }
    }
  }

  #join(name: EndpointClass, other: EndpointClass): void {
    const [line, others] = [this.#lineOf(name), this.#lineOf(other)];
    const now = this.#clocks.now();
    const [mineMs, theirsMs] = [line, others].map(({ bucket }) => Math.max(now, bucket.blockedUntilMs));
    // A pause of one class, such as a daily limit, says nothing about the window; after it the next response decides.
    if (line === others || mineMs !== theirsMs) return;
    const members = (of: WaitingLine<Permit>): EndpointClass[] =>
      endpointClasses.filter((each) => this.#lines.get(each) === of);
    const rivals = members(others);
    if (members(line).some((each) => rivals.some((rival) => this.#windows.areSeparate(each, rival)))) return;
    others.join(line);
    for (const [each, joined] of this.#lines) if (joined === line) this.#lines.set(each, others);
  }

  #part(name: EndpointClass, bucket: RateBucket): void {
    const joined = this.#lineOf(name);
    this.#begin(name, bucket).takeOver(name, joined);
  }

  #isJoined(name: EndpointClass): boolean {
    const line = this.#lineOf(name);
    return [...this.#lines].some(([other, each]) => other !== name && each === line);
  }

  /** After a refusal, holds back every class that may share the window. */
  #holdBack(name: EndpointClass, nowMs: number): void {
    const line = this.#lineOf(name);
    const untilMs = Math.min(line.bucket.blockedUntilMs, nowMs + maxHoldMs);
    for (const other of endpointClasses) {
      const held = this.#lineOf(other);
      if (held !== line && !this.#windows.areSeparate(name, other)) held.block(untilMs);
    }
    this.#remember();
  }

  #remember(): void {
    const now = this.#clocks.now();
    const rests = [...this.#lines].map(([name, { bucket }]) => [name, bucket.blockedUntilMs - now] as const);
    this.#memory?.save({ ...this.#memory.load(), ...Object.fromEntries(rests.filter(([, restMs]) => restMs > 0)) });
  }
}
