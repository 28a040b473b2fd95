import type { ItemWaits, NeedsAttention } from '../shared/batch';

/**
 * Jobs in flight that wait for a person, as they told it themselves. As long as there is one the batch starts no more: those would come to wait
 * for the same, and what they were paid for lies at the service until it expires there.
 */
export class BatchAttention {
  private readonly waiting: Set<string>;
  private reason: Pick<NeedsAttention, 'code' | 'message'> | undefined;

  constructor(carried?: CarriedAttention) {
    this.waiting = new Set(carried?.jobs);
    this.reason = carried?.reason;
  }

  /** Undefined: nobody waits. */
  get needed(): NeedsAttention | undefined {
    return this.reason && this.waiting.size > 0 ? { ...this.reason, jobs: this.waiting.size } : undefined;
  }

  /** The last one to tell is shown: what the first one waited for may be there by now. */
  waits({ workflowId, code, message }: ItemWaits): void {
    this.waiting.add(workflowId);
    this.reason = { code, message };
  }

  over(workflowId: string): void {
    this.waiting.delete(workflowId);
  }

  /** For the next run; small, however many wait. */
  carry(): CarriedAttention | undefined {
    return this.needed && this.reason && { jobs: [...this.waiting], reason: this.reason };
  }
}

export interface CarriedAttention {
  /** Workflow ids; as many as the window, at most. */
  jobs: string[];
  reason: Pick<NeedsAttention, 'code' | 'message'>;
}
