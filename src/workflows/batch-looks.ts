import type { AwaitedJob, SeenJob } from '../shared/batch-activities';
import { batchActivities } from './batch-activities';

/** Each may be asked for with a whole job's input. */
const looksAtATime = 50;

/** Looks at jobs, many at a time; what is asked for meanwhile comes next. */
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

  /** Resolves when nothing is under way; what has not been looked at by then never is. */
  async rest(): Promise<void> {
    this.isResting = true;
    await this.looking;
  }

  private async look(): Promise<void> {
    // What else is asked for in this moment goes with it.
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
