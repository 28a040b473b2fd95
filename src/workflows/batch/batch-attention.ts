import type { NeedsAttention } from '../../shared/batch';

/**
 * Jobs in flight that have reported that they wait for an operator. While there is one, the batch starts no more jobs:
 * they would wait for the same thing, while their paid results could expire at the service.
 */
export class BatchAttention {
  /** Item numbers. */
  private readonly waiting: Set<number>;
  private reason: Reason | undefined;

  constructor(carried?: CarriedAttention) {
    this.waiting = new Set(carried?.items);
    this.reason = carried?.reason;
  }

  get needed(): NeedsAttention | undefined {
    return this.reason && this.waiting.size > 0 ? { ...this.reason, jobs: this.waiting.size } : undefined;
  }

  /** Shows the latest reason: the cause of an earlier one may already be fixed. */
  waits(item: number, reason: Reason): void {
    this.waiting.add(item);
    this.reason = reason;
  }

  over(item: number): void {
    this.waiting.delete(item);
  }

  /** State for the next run; its size is bounded by the window. */
  carry(): CarriedAttention | undefined {
    return this.needed && this.reason && { items: [...this.waiting], reason: this.reason };
  }
}

export interface CarriedAttention {
  /** At most as many as the window. */
  items: number[];
  reason: Reason;
}

type Reason = Pick<NeedsAttention, 'code' | 'message'>;
