import type { AwaitedJob, SeenJob } from '../../shared/batch-activities';
import { batchActivities } from './batch-activities';

/** Bounded because each request may carry a whole job input. */
const looksAtATime = 50;

/** Looks up jobs in chunks; requests that arrive during a lookup go into the next one. */
export class BatchLooks<Asker> {
  private readonly asked = new Map<Asker, AwaitedJob>();
  private isResting = false;
  private looking: Promise<void> | undefined;

  constructor(
    private readonly onSeen: (asker: Asker, seen: SeenJob) => void,
    private readonly onFailed: (asker: Asker, error: unknown) => void,
  ) {}

  ask(asker: Asker, job: AwaitedJob): void {
    this.asked.set(asker, job);
    this.looking ??= this.look();
  }

  /** Resolves when no lookup is in flight; pending requests are dropped. */
  async rest(): Promise<void> {
    this.isResting = true;
    await this.looking;
  }

  private async look(): Promise<void> {
    // Lets the other requests of this workflow task join the first chunk.
    await Promise.resolve();
    while (this.asked.size > 0 && !this.isResting) {
      const askers = [...this.asked.keys()].slice(0, looksAtATime);
      const jobs = [...this.asked.values()].slice(0, looksAtATime);
      try {
        const { seen } = await batchActivities['conversion.awaitJobs']({ jobs, looksOnce: true });
        for (const each of seen) this.settle(askers[each.job], (asker) => this.onSeen(asker, each));
      } catch (error) {
        for (const each of askers) this.settle(each, (asker) => this.onFailed(asker, error));
      }
    }
    this.looking = undefined;
  }

  private settle(asker: Asker | undefined, told: (asker: Asker) => void): void {
    if (asker !== undefined && this.asked.delete(asker)) told(asker);
  }
}
