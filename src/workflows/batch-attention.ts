import type { NeedsAttention } from '../shared/batch';

/**
 * Jobs in flight that wait for a person, as they told it themselves. As long as there is one the batch starts no more: those would come to wait
 * for the same, and what they were paid for lies at the service until it expires there.
 */
export class BatchAttention {
  /** Items. */
  private readonly waiting: Set<number>;
  private reason: Reason | undefined;

  constructor(carried?: CarriedAttention) {
    this.waiting = new Set(carried?.items);
    this.reason = carried?.reason;
  }

  /** Undefined: nobody waits. */
  get needed(): NeedsAttention | undefined {
    return this.reason && this.waiting.size > 0 ? { ...this.reason, jobs: this.waiting.size } : undefined;
  }

  /** The last one to tell is shown: what the first one waited for may be there by now. */
  waits(item: number, reason: Reason): void {
    this.waiting.add(item);
    this.reason = reason;
  }

  over(item: number): void {
    this.waiting.delete(item);
  }

  /** For the next run; small, however many wait. */
  carry(): CarriedAttention | undefined {
    return this.needed && this.reason && { items: [...this.waiting], reason: this.reason };
  }
}

export interface CarriedAttention {
  /** As many as the window, at most. */
  items: number[];
  reason: Reason;
}

type Reason = Pick<NeedsAttention, 'code' | 'message'>;
