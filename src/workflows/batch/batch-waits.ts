import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { AwaitedJob, SeenJob } from '../../batch/model/activities';
import { waitSteps } from './batch-activities';

/** Each look carries a whole job input. */
const looksAtATime = 50;

/** Looks up and awaits jobs that this run did not start, all in one activity. */
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

  /** Starts no more waits, and resolves when none is in flight. */
  async rest(): Promise<void> {
    this.isResting = true;
    this.scope?.cancel();
    await this.waiting;
  }

  /** Cancels a wait, which could last for days, so that the next one includes the current set of jobs. */
  private restart(): void {
    if (this.waiting) this.scope?.cancel();
    else this.waiting = this.wait();
  }

  private async wait(): Promise<void> {
    await Promise.resolve();
    while (this.jobs.size > 0 && !this.isResting) {
      const looks = [...this.jobs].filter(([, { expected }]) => expected).slice(0, looksAtATime);
      // Looks go first, since they return at once.
      const asked = looks.length > 0 ? looks : [...this.jobs];
      const waiters = asked.map(([waiter]) => waiter);
      const jobs = asked.map(([, job]) => job);
      const scope = new CancellationScope();
      this.scope = scope;
      try {
        const { seen } = await scope.run(() => waitSteps['conversion.awaitJobs']({ jobs }));
        for (const each of seen) this.settle(waiters[each.job], (waiter) => this.onEnded(waiter, each));
      } catch (error) {
        if (isCancellation(error)) continue;
        for (const each of waiters) this.settle(each, (waiter) => this.onFailed(waiter, error));
      }
    }
    this.waiting = undefined;
  }

  private settle(waiter: Waiter | undefined, deliver: (waiter: Waiter) => void): void {
    if (waiter !== undefined && this.jobs.delete(waiter)) deliver(waiter);
  }
}
