import type { Output } from '../output';
import type { Stall } from './stall';
import { stallText } from './stall';

const checkEveryMs = 1_000;
/** What does not move for so long is looked at: with the time that this takes, a person knows within 15 s. */
const stillMs = 8_000;
/** Part of normal work, which a terminal shows anyway. */
const everyday: readonly Stall['reason'][] = ['conversion', 'callback', 'attempt'];

interface StallNewsOptions {
  output: Output;
  /** Undefined: nothing is in the way, or nothing waits. */
  explain: () => Promise<{ who: string; stall: Stall } | undefined>;
  /** What somebody else tells. */
  toldElsewhere?: readonly Stall['reason'][];
}

/** Tells why nothing moves, once for each reason. Runs until it is closed. */
export class StallNews {
  /** What was found when it was last looked at; undefined while things move. */
  last: Stall | undefined;
  private movedAt = Date.now();
  private lookedAt = 0;
  private readonly told: Set<Stall['reason']>;
  private isAsking = false;
  private isClosed = false;
  private readonly timer = setInterval(() => void this.check(), checkEveryMs);

  constructor(private readonly options: StallNewsOptions) {
    this.told = new Set(options.toldElsewhere);
  }

  moved(): void {
    this.movedAt = Date.now();
    this.last = undefined;
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
  }

  private async check(): Promise<void> {
    const askedAt = Date.now();
    if (this.isAsking || askedAt - Math.max(this.movedAt, this.lookedAt) < stillMs) return;
    this.isAsking = true;
    const found = await this.options.explain().catch(() => undefined);
    this.isAsking = false;
    this.lookedAt = Date.now();
    if (this.isClosed || this.movedAt > askedAt) return;
    this.last = found?.stall;
    if (found) this.tell(found);
  }

  private tell({ who, stall }: { who: string; stall: Stall }): void {
    if (this.told.has(stall.reason)) return;
    this.told.add(stall.reason);
    const { output } = this.options;
    const text = stallText(who, stall);
    if (!everyday.includes(stall.reason)) output.warn(text);
    else if (!output.isLive) output.say(text);
  }
}
