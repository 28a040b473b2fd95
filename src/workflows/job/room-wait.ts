import { getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import type { NeededRoom } from '../../shared/activities';
import type { ItemWaits } from '../../shared/batch';
import { conversionItemWaitsSignal, inBatchMemo } from '../../shared/names';
import { shownTime } from '../../shared/wording';
import type { JobFailure } from './job-failure';
import type { JobProgress } from './job-progress';

/**
 * A job's wait for free space at its destination: before the submit, when nothing has been paid, or after the
 * conversion, while the service keeps the result. The activity rechecks, which adds nothing to the history.
 */
export class RoomWait {
  private since: number | undefined;
  private message = '';
  private code = '';
  /** Size of what did not fit, where known. */
  private bytes: number | undefined;

  constructor(
    private readonly options: { destination: string; deadlineMs: number },
    private readonly progress: JobProgress,
  ) {}

  get isWaiting(): boolean {
    return this.since !== undefined;
  }

  /** Milliseconds since the epoch. */
  get deadline(): number {
    return (this.since ?? Date.now()) + this.options.deadlineMs;
  }

  get waitsFor(): string {
    return this.message;
  }

  /** The error code of a step that still has no room at its deadline. */
  deadlineCode(otherwise: string): string {
    return this.isWaiting ? this.code : otherwise;
  }

  /** Adds what to do, even if the deadline passed without a last check. */
  explain(failure: JobFailure): JobFailure {
    if (!this.isWaiting || failure.code !== this.code) return failure;
    return { ...failure, message: `no room at ${this.options.destination}. Make room there. ${failure.message}` };
  }

  /** Input for an activity. `bytes`: the expected size of the result; default: the size of what did not fit. */
  needed(bytes = this.bytes): { room?: NeededRoom } {
    if (bytes === undefined && !this.isWaiting) return {};
    return { room: { ...(bytes !== undefined && { bytes }), ...(this.isWaiting && { isAwaited: true }) } };
  }

  enter(failure: JobFailure): void {
    const { destination } = this.options;
    this.since ??= Date.now();
    this.code = failure.code;
    this.bytes = failure.neededBytes;
    this.message = `No room at ${destination} since ${shownTime(this.since)} UTC. Make room there: the job looks again and again until ${shownTime(this.deadline)} UTC, and goes on by itself.`;
    this.progress.enter(this.progress.phase, this.message);
    this.tell(false);
  }

  over(): void {
    if (!this.isWaiting) return;
    this.tell(true);
    this.since = undefined;
    this.bytes = undefined;
    this.message = '';
  }

  /** Notifies the batch, which then starts no more jobs; errors are ignored, since it may have ended. */
  private tell(over: boolean): void {
    const { parent, memo, workflowId } = workflowInfo();
    if (!parent || memo?.[inBatchMemo] !== true) return;
    const { code } = this;
    const message = `No room at ${this.options.destination}. Make room there: the batch goes on by itself.`;
    getExternalWorkflowHandle(parent.workflowId)
      .signal<[ItemWaits]>(conversionItemWaitsSignal, { workflowId, code, message, over })
      .catch(() => undefined);
  }
}
