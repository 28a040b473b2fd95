import { ActivityFailure, ApplicationFailure, sleep } from '@temporalio/workflow';
import type { ActivityFailureDetails } from '../../shared/activities';

/** Time that is left for an attempt when a wait ended at the very end of the deadline. */
const leastLeftMs = 60_000;

/**
 * Waits that the service orders (section "Limits") and that are longer than the step's deadline: the job sleeps them
 * out, and the deadline moves by the same time. The credits deadline bounds their sum.
 */
export class OrderedWaits {
  waitedMs = 0;

  constructor(
    private readonly options: {
      longestMs: number;
      /** `untilMs`: milliseconds since the epoch. */
      onWait?: (untilMs: number, message: string) => void;
    },
  ) {}

  /**
   * Runs a step within its deadline, and again after each ordered wait that did not fit into it. `explain` maps the
   * error that is thrown. Each promise in a workflow costs the SDK a stack trace, so the steps use few layers of them.
   */
  async obey<T>(
    deadlineMs: number,
    run: (deadlineMs: number) => Promise<T>,
    explain: (error: unknown) => unknown = (error) => error,
  ): Promise<T> {
    const deadline = Date.now() + deadlineMs;
    const waitedBefore = this.waitedMs;
    let leftMs = deadlineMs;
    for (;;) {
      try {
        return await run(leftMs);
      } catch (error) {
        const order = readOrder(error);
        if (!order || this.waitedMs + order.waitMs > this.options.longestMs) throw explain(error);
        this.options.onWait?.(Date.now() + order.waitMs, order.message);
        await sleep(order.waitMs, { summary: 'the service wants a pause' });
        this.waitedMs += order.waitMs;
        leftMs = Math.max(deadline + this.waitedMs - waitedBefore - Date.now(), Math.min(deadlineMs, leastLeftMs));
      }
    }
  }
}

/** The server ended the step because its next attempt would have come after the deadline. */
function readOrder(error: unknown): { waitMs: number; message: string } | undefined {
  if (!(error instanceof ActivityFailure) || error.retryState !== 'TIMEOUT') return undefined;
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) return undefined;
  const { orderedWaitMs } = (cause.details?.[0] ?? {}) as Partial<ActivityFailureDetails>;
  return typeof orderedWaitMs === 'number' && orderedWaitMs > 0
    ? { waitMs: orderedWaitMs, message: cause.message }
    : undefined;
}
