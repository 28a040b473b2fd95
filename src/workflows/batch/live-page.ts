import { CancellationScope, condition, log, sleep, workflowInfo } from '@temporalio/workflow';
import type { BatchState } from '../../batch/model/state';
import type { ReportedRun, RunningBatch } from '../../batch/model/activities';
import { endedOf, leftMs } from '../../batch/model/progress';
import { pageSteps, unwrap } from './batch-activities';

const defaultEveryMs = 30_000;
const maxWrites = 60;
/** For a slower page, the interval grows in proportion: writing takes at most a hundredth of the time. */
const defaultCostMs = defaultEveryMs / 100;
/** The pace can't be measured over less. */
const minPaceMs = 2_000;
/** How long the end of a batch, or continue-as-new, waits for a page in progress. */
const restMs = 5_000;

export interface CarriedPage {
  /** Minimum interval between pages. */
  everyMs: number;
  /** Pages started. */
  written: number;
  /** Start of the last page; before the first page, of the batch. */
  at: number;
  /** What the last page showed; while it is the same, no new page is due. */
  shown: string;
  /** How long the last page took; absent before the first. */
  tookMs?: number;
  /** Start of the pace measurement: the last page, or the end of the last pause or park. */
  pace: { at: number; ended: number };
}

export function reportedRun(folder: string, uiUrl: string | undefined): ReportedRun {
  const { workflowId: batch, namespace } = workflowInfo();
  return { folder, batch, ...(uiUrl !== undefined && { ui: { url: uiUrl, namespace } }) };
}

export function noPage(at: number, ended: number): CarriedPage {
  return { everyMs: defaultEveryMs, written: 0, at, shown: '', pace: { at, ended } };
}

/**
 * Rewrites the report page of a batch while it runs: when something has changed, at most every 30 s, and at most 60 times. The interval
 * grows with the remaining time, so that some pages stay in reserve for a misjudged pace.
 */
export class LivePage {
  private isWriting = false;
  /** Scope of the activity that writes a page. */
  private writing: CancellationScope | undefined;
  /** Due time of the timer started last. */
  private timedAt = Infinity;
  private isResting = false;
  private wasHeld = false;

  constructor(
    private readonly options: {
      run: ReportedRun;
      /** Writes pending results to the part files, from which the page is made. */
      flush: () => Promise<void>;
      onDue: () => void;
    },
    readonly carried: CarriedPage,
  ) {}

  look(state: BatchState): void {
    const { carried } = this;
    if (this.isWriting || carried.written >= maxWrites) return;
    const now = Date.now();
    const ended = endedOf(state);
    const isHeld = state.status !== 'running' || state.needsAttention !== undefined;
    if (isHeld || this.wasHeld) carried.pace = { at: now, ended };
    this.wasHeld = isHeld;
    const shown = `${state.status} ${state.needsAttention?.code ?? ''} ${ended}`;
    if (shown === carried.shown) return;
    const perSecond = this.perSecond(now, ended);
    const dueMs = carried.at + this.intervalMs(state, perSecond) - now;
    if (dueMs <= 0) {
      this.isWriting = true;
      Object.assign(carried, { written: carried.written + 1, at: now, shown, pace: { at: now, ended } });
      void this.write({ ...state, at: now, ...(perSecond !== undefined && { perSecond }) });
    } else if (this.isWorthTimer(dueMs, { now, isHeld })) {
      const at = (this.timedAt = now + dueMs);
      void sleep(dueMs, { summary: 'before the next page of the report' }).then(() => {
        // A later timer may have replaced this one.
        if (this.timedAt === at) this.timedAt = Infinity;
        this.options.onDue();
      });
    }
  }

  /** Starts no more pages. */
  close(): void {
    this.isResting = true;
  }

  /** Starts no more pages and waits for the one in progress. A slow one is cancelled and awaited: it could overwrite the final page. */
  async rest(): Promise<void> {
    this.close();
    if (!this.isWriting || (await condition(() => !this.isWriting, restMs))) return;
    this.writing?.cancel();
    await condition(() => this.writing === undefined);
  }

  /** Marks the page, if there is one, as final. */
  async failed(state: BatchState, error: unknown): Promise<void> {
    if (this.carried.written === 0) return;
    await this.rest();
    await this.put({ ...state, at: Date.now(), failure: error instanceof Error ? error.message : String(error) });
  }

  /** The due time moves earlier with each item that ends; a timer for each move would cost more than the page. */
  private isWorthTimer(dueMs: number, { now, isHeld }: { now: number; isHeld: boolean }): boolean {
    const timedMs = this.timedAt - now;
    return isHeld ? dueMs < timedMs : 2 * dueMs < timedMs;
  }

  private perSecond(now: number, ended: number): number | undefined {
    const { at, ended: before } = this.carried.pace;
    return now - at < minPaceMs ? undefined : ((ended - before) * 1_000) / (now - at);
  }

  private intervalMs(state: BatchState, perSecond: number | undefined): number {
    const { everyMs, written, tookMs = 0 } = this.carried;
    const left = leftMs(state, perSecond) ?? 0;
    return Math.max(everyMs, (everyMs * tookMs) / defaultCostMs, (2 * left) / (maxWrites - written));
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
      const written = scope.run(() => pageSteps['conversion.writeRunningPage']({ ...this.options.run, state }));
      this.carried.tookMs = (await written).tookMs;
    } catch (error) {
      log.warn('The page of a running batch could not be written', { error: String(unwrap(error)) });
    } finally {
      this.writing = undefined;
    }
  }
}
