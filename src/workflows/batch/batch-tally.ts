import type { ConversionBatchInput } from '../../batch/model/types';
import {
  countCode,
  noTotals,
  type NeedsAttention,
  type BatchItemResult,
  type BatchStatus,
  type BatchTotals,
  type ListedBatchStatus,
} from '../../batch/model/state';
import { endOfItem, type JobOutcome } from '../../job/types';
import type { EarlierRuns } from '../../job/charge';
import { endedOf } from '../../batch/model/progress';
import { Spending, type CarriedSpending } from '../../batch/model/spending';

/** With fewer items a percentage means nothing: the first item alone gives 0 or 100 percent. */
const minForPercent = 20;

/** Counts how the items of a batch ended. Its size does not depend on the number of items. */
export class BatchTally {
  readonly totals: BatchTotals;
  private readonly spending: Spending;

  constructor({ totals = noTotals(), spending }: Partial<CarriedTally> = {}) {
    this.totals = totals;
    this.spending = Spending.from(spending);
  }

  get ended(): number {
    return endedOf(this.totals);
  }

  /** @param earlier state left by earlier runs of the item. */
  add(outcome: JobOutcome | BatchItemResult, earlier?: EarlierRuns): void {
    const { totals } = this;
    this.spending.add(outcome, earlier ? { earlier } : {});
    totals[endOfItem(outcome.status)] += 1;
    if (outcome.status === 'suspect') totals.suspect = (totals.suspect ?? 0) + 1;
    totals.vcredits += outcome.vcredits ?? 0;
    totals.requests += outcome.requests ?? 0;
    if (outcome.possiblyChargedTwice) totals.possiblyChargedTwice += 1;
    if (outcome.kept && outcome.status === 'failed') totals.kept += 1;
    if (outcome.missing) totals.missing = (totals.missing ?? 0) + 1;
    if (endOfItem(outcome.status) === 'failed') countCode(totals.failures, outcome.code);
  }

  /** Whether the budget may be used up, including what earlier runs `spent`. Jobs in flight may cost more. */
  isSpent({ maxVcredits = Infinity }: Pick<ConversionBatchInput, 'maxVcredits'>, spent = 0): boolean {
    return spent + this.spending.upperBound >= maxVcredits;
  }

  carry(): CarriedTally {
    return { totals: this.totals, spending: this.spending.carry() };
  }

  /** Whether failures have reached the limit at which the batch starts no more jobs. */
  exceeds(stopAfter: ConversionBatchInput['stopAfter']): boolean {
    const { succeeded, kept, refused = 0 } = this.totals;
    // Items that were not tried don't count.
    const failed = this.totals.failed - kept - refused;
    const { failures, percent } = stopAfter ?? {};
    if (failures !== undefined && failed >= failures) return true;
    const judged = succeeded + failed;
    return percent !== undefined && judged >= minForPercent && failed * 100 >= percent * judged;
  }
}

export interface CarriedTally {
  totals: BatchTotals;
  spending: CarriedSpending;
}

/**
 * Items in flight whose jobs are parked. While there is one, the batch starts no more jobs: they would wait for the same
 * thing, while paid results could expire at the service.
 */
export class BatchAttention {
  /** Item numbers. */
  private readonly waiting: Set<number>;
  private reason: Reason | undefined;
  private announcedCode: string | undefined;

  constructor(carried?: CarriedAttention) {
    this.waiting = new Set(carried?.items);
    this.reason = carried?.reason;
    this.announcedCode = carried?.announcedCode;
  }

  /** Returns a reason once, however many jobs wait for it, and again when it recurs or changes. */
  takeUnannounced(): NeedsAttention | undefined {
    const { needed } = this;
    if (needed?.code === this.announcedCode) return undefined;
    this.announcedCode = needed?.code;
    return needed;
  }

  get needed(): NeedsAttention | undefined {
    return this.reason && this.waiting.size > 0 ? { ...this.reason, jobs: this.waiting.size } : undefined;
  }

  /** The status shown in lists of batches. */
  listed(status: BatchStatus): ListedBatchStatus {
    return this.needed && (status === 'running' || status === 'paused') ? 'needsAttention' : status;
  }

  /** Shows the latest reason: the cause of an earlier one may already be fixed. */
  waits(item: number, reason: Omit<Reason, 'since'>): void {
    const { since = Date.now() } = this.needed ?? {};
    this.waiting.add(item);
    this.reason = { ...reason, since };
  }

  /** Whether a job gave up a wait for the app, at its deadline: the jobs of other items would wait as long, and in vain. */
  isEndedBy({ item, code }: BatchItemResult): boolean {
    return this.reason?.app !== undefined && this.waiting.has(item) && code === this.reason.code;
  }

  over(item: number): void {
    this.waiting.delete(item);
  }

  /** Called when the batch no longer waits for parked jobs; returns their items. */
  giveUp(): number[] {
    const items = [...this.waiting];
    this.waiting.clear();
    return items;
  }

  /** State for the next run; its size is bounded by the window. */
  carry(): CarriedAttention | undefined {
    const { needed, reason, announcedCode } = this;
    return (
      needed && reason && { items: [...this.waiting], reason, ...(announcedCode !== undefined && { announcedCode }) }
    );
  }
}

export interface CarriedAttention {
  items: number[];
  reason: Reason;
  /** Code of the reason last announced. */
  announcedCode?: string;
}

type Reason = Omit<NeedsAttention, 'jobs'>;
