import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { AwaitedJob, SeenJob } from '../../shared/batch-activities';
import { batchActivities } from './batch-activities';

/** Waits for jobs that this run did not start, all in one activity. */
export class BatchWaits<Waiter> {
  private readonly jobs = new Map<Waiter, AwaitedJob>();
  private isResting = false;
  private scope: CancellationScope | undefined;
  private waiting: Promise<void> | undefined;

  constructor(
    private readonly onEnded: (waiter: Waiter, seen: SeenJob) => void,
    private readonly onFailed: (waiter: Waiter, error: unknown) => void,
  ) {}

  add(waiter: Waiter, job: AwaitedJob): void {
    this.jobs.set(waiter, job);
    this.restart();
  }

  drop(waiter: Waiter): void {
    if (this.jobs.delete(waiter)) this.restart();
  }

  /** Resolves when no wait is in flight. */
  async rest(): Promise<void> {
    this.isResting = true;
    this.scope?.cancel();
    await this.waiting;
  }

  /** Cancels a wait that may take days, so that the next one includes the current set of jobs. */
  private restart(): void {
    if (this.waiting) this.scope?.cancel();
    else this.waiting = this.wait();
  }

  private async wait(): Promise<void> {
    await Promise.resolve();
    while (this.jobs.size > 0 && !this.isResting) {
      const waiters = [...this.jobs.keys()];
      const jobs = [...this.jobs.values()];
      const scope = new CancellationScope();
      this.scope = scope;
      try {
        const { seen } = await scope.run(() => batchActivities['conversion.awaitJobs']({ jobs }));
        for (const each of seen) this.settle(waiters[each.job], (waiter) => this.onEnded(waiter, each));
      } catch (error) {
        if (isCancellation(error)) continue;
        for (const each of waiters) this.settle(each, (waiter) => this.onFailed(waiter, error));
      }
    }
    this.waiting = undefined;
  }

  private settle(waiter: Waiter | undefined, told: (waiter: Waiter) => void): void {
    if (waiter !== undefined && this.jobs.delete(waiter)) told(waiter);
  }
}

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
