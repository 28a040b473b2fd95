import { CancellationScope, condition, defineSignal, isCancellation, setHandler, uuid4 } from '@temporalio/workflow';
import type { CheckTaskResult } from '../../job/activities';
import type { CallbackArrival } from '../../job/types';
import { conversionCallbackSignal } from '../../job/names';

const conversionCallback = defineSignal<[Partial<CallbackArrival> | undefined]>(conversionCallbackSignal);

const idPattern = /^[0-9a-f-]{36}$/i;

/** The callbacks of one job. A callback only triggers a poll, counts once, and must belong to the current submit. */
export class JobCallbacks {
  /** Of the current submit. */
  nonce: string | undefined;
  private arrived = false;
  /** The task id from the callback, for a job that does not know its task. */
  namedTask: string | undefined;

  /** Call before the first await: a callback may arrive before the submit's own response. */
  listen(): void {
    setHandler(conversionCallback, (arrival) => this.take(arrival));
  }

  /** Returns the nonce of the next submit. Callbacks for earlier submits are ignored from now on. */
  next(): string {
    this.nonce = uuid4();
    this.arrived = false;
    this.namedTask = undefined;
    return this.nonce;
  }

  /** False after the timeout. */
  async wait(timeoutMs: number): Promise<boolean> {
    return this.arrived || (await condition(() => this.arrived, timeoutMs, { summary: 'waits for the callback' }));
  }

  /** Polls, and polls again if the callback arrives during the first poll, which is cancelled and counts as one request. */
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

  /** Cancelled with the scope, so that no condition is left behind. */
  private async untilArrived(scope: CancellationScope): Promise<'arrived'> {
    await scope.run(() => condition(() => this.arrived));
    return 'arrived';
  }

  /** Anyone who may signal the workflow can send any payload. */
  private take(arrival: Partial<CallbackArrival> | undefined): void {
    if (this.nonce === undefined || arrival?.nonce !== this.nonce) return;
    this.arrived = true;
    if (typeof arrival.taskId === 'string' && idPattern.test(arrival.taskId)) this.namedTask ??= arrival.taskId;
  }
}
