import { performance } from 'node:perf_hooks';

/** A moment by two clocks: the monotonic one cannot be set, the wall clock continues while the machine sleeps. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentNow(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

/** The longer of the two: a wall clock set forward only costs an unneeded check. */
export function elapsedMs(since: Moment, now: Moment = momentNow()): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
}

const beatMs = 1_000;
/** A busy process may miss a beat or two. */
const longestPauseMs = 3_000;

/** Detects that this process was suspended, by a signal or with its machine: data in its sockets may then be stale. */
export class ProcessPulse {
  private timer: NodeJS.Timeout | undefined;
  private last: Moment;
  private wokeAt: Moment | undefined;

  constructor(private readonly now: () => Moment = momentNow) {
    this.last = now();
  }

  start(): void {
    this.timer ??= setInterval(() => this.beat(), beatMs).unref();
  }

  /** Whether the process resumed within the last `ms`; also detects a suspension that has just ended. */
  hasWokenWithin(ms: number): boolean {
    this.beat();
    return this.wokeAt !== undefined && elapsedMs(this.wokeAt, this.last) < ms;
  }

  beat(): void {
    const now = this.now();
    if (elapsedMs(this.last, now) > longestPauseMs) this.wokeAt = now;
    this.last = now;
  }
}

/** The worker process's own; active once started. */
export const processPulse = new ProcessPulse();
