import { performance } from 'node:perf_hooks';

/** A moment by both clocks: one cannot be set, the other goes on while the machine sleeps. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentNow(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

/** By whichever clock says more: a clock that was set forward only makes us ask once too often. */
export function elapsedMs(since: Moment, now: Moment = momentNow()): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
}

const beatMs = 1_000;
/** A busy process may miss a beat or two. */
const longestPauseMs = 3_000;

/**
 * Notices when this process has stood still: stopped by a signal, asleep or paused with its machine. What it then finds in its sockets, a task
 * for one, may be as old as its sleep was long.
 */
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

  /** Whether it woke within the last so many milliseconds; this very moment is noticed too. */
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

/** That of the worker's process; counts once it was started. */
export const processPulse = new ProcessPulse();
