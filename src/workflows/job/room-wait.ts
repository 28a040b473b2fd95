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
  /** `bytes`: size of what did not fit, where known. */
  private waiting: { since: number; code: string; message: string; bytes: number | undefined } | undefined;

  constructor(
    private readonly options: { destination: string; deadlineMs: number },
    private readonly progress: JobProgress,
  ) {}

  /** Milliseconds since the epoch. */
  get deadline(): number {
    return (this.waiting?.since ?? Date.now()) + this.options.deadlineMs;
  }

  get waitsFor(): string {
    return this.waiting?.message ?? '';
  }

  /** The error code of a step that still has no room at its deadline. */
  deadlineCode(otherwise: string): string {
    return this.waiting?.code ?? otherwise;
  }

  /** Adds what to do, even if the deadline passed without a last check. */
  explain(failure: JobFailure): JobFailure {
    if (failure.code !== this.waiting?.code) return failure;
    return { ...failure, message: `no room at ${this.options.destination}. Make room there. ${failure.message}` };
  }

  /** Input for an activity. `bytes`: the expected size of the result; default: the size of what did not fit. */
  needed(bytes = this.waiting?.bytes): { room?: NeededRoom } {
    if (bytes === undefined && !this.waiting) return {};
    return { room: { ...(bytes !== undefined && { bytes }), ...(this.waiting && { isAwaited: true }) } };
  }

  enter({ code, neededBytes: bytes }: JobFailure): void {
    const { destination, deadlineMs } = this.options;
    const since = this.waiting?.since ?? Date.now();
    const message = `No room at ${destination} since ${shownTime(since)} UTC. Make room there: the job looks again and again until ${shownTime(since + deadlineMs)} UTC, and continues by itself.`;
    this.waiting = { since, code, message, bytes };
    this.progress.enter(this.progress.phase, message);
    this.tell({ code, over: false });
  }

  over(): void {
    if (!this.waiting) return;
    this.tell({ code: this.waiting.code, over: true });
    this.waiting = undefined;
  }

  /** Notifies the batch, which then starts no more jobs; errors are ignored, since it may have ended. */
  private tell(wait: { code: string; over: boolean }): void {
    const { parent, memo, workflowId } = workflowInfo();
    if (!parent || memo?.[inBatchMemo] !== true) return;
    const message = `No room at ${this.options.destination}. Make room there: the batch continues by itself.`;
    getExternalWorkflowHandle(parent.workflowId)
      .signal<[ItemWaits]>(conversionItemWaitsSignal, { workflowId, message, ...wait })
      .catch(() => undefined);
  }
}
