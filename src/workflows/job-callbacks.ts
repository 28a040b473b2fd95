import { CancellationScope, condition, defineSignal, isCancellation, setHandler, uuid4 } from '@temporalio/workflow';
import type { CheckTaskResult } from '../shared/activities';
import type { CallbackArrival } from '../shared/callback';
import { conversionCallbackSignal } from '../shared/names';

const conversionCallback = defineSignal<[Partial<CallbackArrival> | undefined]>(conversionCallbackSignal);

const idPattern = /^[0-9a-f-]{36}$/i;

/**
 * The callbacks of one job. They wake it and decide nothing: only one for the submit that the job now waits for counts, once, and all it
 * brings about is a question to the service.
 */
export class JobCallbacks {
  private nonce: string | undefined;
  private arrived = false;
  private taskId: string | undefined;

  /** Before anything is awaited: a callback may come before the submit's own answer. */
  listen(): void {
    setHandler(conversionCallback, (arrival) => this.take(arrival));
  }

  /** The nonce of the submit that begins now. What still comes for earlier ones changes nothing. */
  next(): string {
    this.nonce = uuid4();
    this.arrived = false;
    this.taskId = undefined;
    return this.nonce;
  }

  /** Resolves when the submit's callback is there, or after this long: whether it is there. */
  async wait(timeoutMs: number): Promise<boolean> {
    return this.arrived || (await condition(() => this.arrived, timeoutMs, { summary: 'waits for the callback' }));
  }

  /** The task that the callback names, for a job that does not know it. */
  get namedTask(): string | undefined {
    return this.taskId;
  }

  /**
   * Polls, and asks at once when the callback comes after all. Happens once: later ones say nothing new. The poll that it cuts short counts
   * as one request.
   */
  async race(poll: () => Promise<CheckTaskResult>): Promise<CheckTaskResult> {
    if (this.arrived) return poll();
    const scope = new CancellationScope();
    const polled = scope.run(poll);
    const first = await Promise.race([polled, this.untilArrived(scope)]);
    if (first !== 'arrived') return first;
    scope.cancel();
    const done = await polled.catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
      return undefined;
    });
    if (done) return done;
    const { report, requests } = await poll();
    return { report, requests: requests + 1 };
  }

  /** Ends with the scope, so that no condition is left behind. */
  private async untilArrived(scope: CancellationScope): Promise<'arrived'> {
    await scope.run(() => condition(() => this.arrived));
    return 'arrived';
  }

  /** Anybody who may signal the workflow can send anything. */
  private take(arrival: Partial<CallbackArrival> | undefined): void {
    if (this.nonce === undefined || arrival?.nonce !== this.nonce) return;
    this.arrived = true;
    if (typeof arrival.taskId === 'string' && idPattern.test(arrival.taskId)) this.taskId ??= arrival.taskId;
  }
}
