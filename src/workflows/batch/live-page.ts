import { CancellationScope, condition, log, sleep } from '@temporalio/workflow';
import type { BatchState } from '../../batch/model/state';
import type { RunningBatch } from '../../batch/model/activities';
import { endedOf, leftMs } from '../../batch/model/progress';
import { pageSteps } from './batch-activities';
import { reportInput, unwrap, type ReportPlace } from './run-end';

const usualEveryMs = 30_000;
const mostWrites = 60;
/** A page that takes long is written less often: writing takes at most a hundredth of the time. */
const usualCostMs = usualEveryMs / 100;
/** A shorter time says nothing about the pace. */
const leastPaceMs = 2_000;
/** How long the end of a batch, or its next run, waits for a page that is being written. */
const restMs = 5_000;

export interface CarriedPage {
  /** Pages are written no more often. */
  everyMs: number;
  /** Pages that were begun. */
  written: number;
  /** Start of the last page; before the first, of the batch. */
  at: number;
  /** What the last one told; while it is the same, nothing has changed. */
  told: string;
  /** How long the last one took; absent before it. */
  tookMs?: number;
  /** Where the pace is measured from: the last page, or the end of the last wait for somebody. */
  pace: { at: number; ended: number };
}

export function noPage(at: number, ended: number): CarriedPage {
  return { everyMs: usualEveryMs, written: 0, at, told: '', pace: { at, ended } };
}

/**
 * Has the report page of a batch written while it runs: when something has changed, at most every 30 s, and 60 times in all. The
 * longer the batch has still to run, the longer the pauses, so that pages are left for what nobody could foresee.
 */
export class LivePage {
  private isWriting = false;
  /** Scope of the activity that writes. */
  private writing: CancellationScope | undefined;
  /** When the timer that was started last is due. */
  private timedAt = Infinity;
  private isResting = false;
  private wasHeld = false;

  constructor(
    private readonly options: ReportPlace & {
      /** Writes the results so far to the part files, from which the page is made. */
      flush: () => Promise<void>;
      onDue: () => void;
    },
    readonly carried: CarriedPage,
  ) {}

  look(state: BatchState): void {
    const { carried } = this;
    if (this.isWriting || carried.written >= mostWrites) return;
    const now = Date.now();
    const ended = endedOf(state);
    const isHeld = state.status !== 'running' || state.needsAttention !== undefined;
    if (isHeld || this.wasHeld) carried.pace = { at: now, ended };
    this.wasHeld = isHeld;
    const told = `${state.status} ${state.needsAttention?.code ?? ''} ${ended}`;
    if (told === carried.told) return;
    const perSecond = this.perSecond(now, ended);
    const dueMs = carried.at + this.intervalMs(state, perSecond) - now;
    if (dueMs <= 0) {
      this.isWriting = true;
      Object.assign(carried, { written: carried.written + 1, at: now, told, pace: { at: now, ended } });
      void this.write({ ...state, at: now, ...(perSecond !== undefined && { perSecond }) });
    } else if (
      this.isWorthTimer(dueMs, { now, isHeld }) &&
      (carried.written > 0 || (isHeld && state.status !== 'stopping'))
    ) {
      // No timer before the first page, since most batches end earlier, unless a long silence may follow.
      const at = (this.timedAt = now + dueMs);
      void sleep(dueMs, { summary: 'before the next page of the report' }).then(() => {
        // An earlier one may have been started since.
        if (this.timedAt === at) this.timedAt = Infinity;
        this.options.onDue();
      });
    }
  }

  /** Begins no more pages. */
  close(): void {
    this.isResting = true;
  }

  /** Begins no more pages, and resolves when none is being written. A slow one is cancelled and awaited: it would replace the last page. */
  async rest(): Promise<void> {
    this.close();
    if (!this.isWriting || (await condition(() => !this.isWriting, restMs))) return;
    this.writing?.cancel();
    await condition(() => this.writing === undefined);
  }

  /** Says on the page, if there is one, that no other will follow. */
  async failed(state: BatchState, error: unknown): Promise<void> {
    if (this.carried.written === 0) return;
    await this.rest();
    const cause = unwrap(error);
    await this.put({ ...state, at: Date.now(), failure: cause instanceof Error ? cause.message : String(cause) });
  }

  /** The time left shrinks with each item that ends, and a timer for each would cost more than the page. */
  private isWorthTimer(dueMs: number, { now, isHeld }: { now: number; isHeld: boolean }): boolean {
    const timedMs = this.timedAt - now;
    return isHeld ? dueMs < timedMs : 2 * dueMs < timedMs;
  }

  private perSecond(now: number, ended: number): number | undefined {
    const { at, ended: before } = this.carried.pace;
    return now - at < leastPaceMs ? undefined : ((ended - before) * 1_000) / (now - at);
  }

  private intervalMs(state: BatchState, perSecond: number | undefined): number {
    const { everyMs, written, tookMs = 0 } = this.carried;
    const left = leftMs(state, perSecond) ?? 0;
    return Math.max(everyMs, (everyMs * tookMs) / usualCostMs, (2 * left) / (mostWrites - written));
  }

  private async write(state: RunningBatch): Promise<void> {
    try {
      await this.options.flush();
      if (!this.isResting) await this.put(state);
    } catch (error) {
      log.warn('The results so far could not be written', { error: String(unwrap(error)) });
    } finally {
      this.isWriting = false;
      this.options.onDue();
    }
  }

  private async put(state: RunningBatch): Promise<void> {
    const scope = (this.writing = new CancellationScope());
    try {
      const written = scope.run(() => pageSteps['conversion.writeBatchReport'](reportInput(state, this.options)));
      this.carried.tookMs = (await written).tookMs;
    } catch (error) {
      log.warn('The page of a running batch could not be written', { error: String(unwrap(error)) });
    } finally {
      this.writing = undefined;
    }
  }
}
