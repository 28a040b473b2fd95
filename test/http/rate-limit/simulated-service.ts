import type { RateHeaders } from '../../../src/http/rate-limit/headers';
import { RateBucket, type Sent } from '../../../src/http/rate-limit/rate-bucket';

/** A service with one window, in simulated time. */
export class SimulatedService {
  #window = { endsAtMs: 0, used: 0 };
  served = 0;
  throttled = 0;
  /** Refuses everything without headers, like a proxy in front of a service that is down. */
  isAway = false;

  constructor(
    readonly limit: number,
    readonly windowMs: number,
    /** How the service rounds the rest of a window to whole seconds. */
    readonly round: (seconds: number) => number = Math.ceil,
  ) {}

  answer(nowMs: number): RateHeaders {
    if (this.isAway) {
      this.throttled += 1;
      return { throttled: true };
    }
    if (nowMs >= this.#window.endsAtMs) this.#window = { endsAtMs: nowMs + this.windowMs, used: 0 };
    return this.#count(nowMs);
  }

  /** The headers of a service that writes them at the end of the request. */
  answerLate(nowMs: number, admitted: RateHeaders): RateHeaders {
    if (admitted.throttled) return admitted;
    const { endsAtMs, used } = this.#window;
    const isOver = nowMs >= endsAtMs;
    const remaining = isOver ? this.limit : this.limit - used;
    return { ...admitted, remaining, resetSeconds: this.round((isOver ? this.windowMs : endsAtMs - nowMs) / 1_000) };
  }

  #count(nowMs: number): RateHeaders {
    const window = this.#window;
    const restSeconds = (window.endsAtMs - nowMs) / 1_000;
    if (window.used >= this.limit) {
      this.throttled += 1;
      const retryAfterSeconds = Math.ceil(restSeconds);
      return { throttled: true, limit: this.limit, remaining: 0, resetSeconds: retryAfterSeconds, retryAfterSeconds };
    }
    window.used += 1;
    this.served += 1;
    const remaining = this.limit - window.used;
    return { throttled: false, limit: this.limit, remaining, resetSeconds: this.round(restSeconds) };
  }
}

interface Event {
  atMs: number;
  run: () => void;
}

/** Runs events in order of time; no real time passes. */
export class Simulation {
  nowMs = 1_000_000;
  #events: Event[] = [];

  at(atMs: number, run: () => void): void {
    this.#events.push({ atMs: Math.max(atMs, this.nowMs), run });
  }

  runUntil(endMs: number): void {
    for (;;) {
      const next = this.#events.reduce<Event | undefined>(
        (first, event) => (first === undefined || event.atMs < first.atMs ? event : first),
        undefined,
      );
      if (!next || next.atMs > endMs) return;
      this.#events = this.#events.filter((event) => event !== next);
      this.nowMs = next.atMs;
      next.run();
    }
  }
}

/** A worker that always has another request to send. */
export class EagerWorker {
  readonly bucket: RateBucket;
  sent = 0;
  #timerAtMs: number | undefined;

  constructor(
    private readonly simulation: Simulation,
    private readonly service: SimulatedService,
    private readonly options: {
      random: () => number;
      /** One way. */
      latencyMs: () => number;
      /** Maximum number of requests in flight. */
      slots: number;
      onSend?: (bucket: RateBucket) => void;
      isPatient?: boolean;
      /** Duration of an admitted request; a refusal is answered at once. */
      takesMs?: number;
      writesHeadersLate?: boolean;
    },
  ) {
    this.bucket = new RateBucket({ random: options.random });
  }

  #underWay = 0;
  #isKilled = false;

  kill(): void {
    this.#isKilled = true;
  }

  advance(): void {
    while (!this.#isKilled) {
      if (this.#underWay >= this.options.slots) return;
      const { nowMs } = this.simulation;
      const { isPatient = false } = this.options;
      const decision = this.bucket.decide(nowMs, { isPatient });
      if (decision.kind === 'wait') {
        if (decision.untilMs <= nowMs) throw new Error('waits for a moment that has passed');
        if (this.#timerAtMs === undefined || this.#timerAtMs <= nowMs || decision.untilMs < this.#timerAtMs) {
          this.#timerAtMs = decision.untilMs;
          this.simulation.at(decision.untilMs, () => this.advance());
        }
        return;
      }
      this.options.onSend?.(this.bucket);
      this.#send(this.bucket.sent(nowMs, { isPatient }));
    }
  }

  #send(sent: Sent): void {
    this.sent += 1;
    this.#underWay += 1;
    const { simulation, service, options } = this;
    simulation.at(simulation.nowMs + options.latencyMs(), () => {
      const admitted = service.answer(simulation.nowMs);
      simulation.at(simulation.nowMs + (admitted.throttled ? 0 : (options.takesMs ?? 0)), () => {
        const headers = options.writesHeadersLate === true ? service.answerLate(simulation.nowMs, admitted) : admitted;
        simulation.at(simulation.nowMs + options.latencyMs(), () => {
          this.#underWay -= 1;
          this.bucket.answered(sent, headers, simulation.nowMs);
          this.advance();
        });
      });
    });
  }
}
