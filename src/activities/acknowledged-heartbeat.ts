import { performance } from 'node:perf_hooks';
import type { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { ServiceError, isGrpcServiceError } from '@temporalio/client';
import { encodePayload } from '../history/payloads';

const callTimeoutMs = 5_000;
/** gRPC status NOT_FOUND; the enum is in a package that we do not depend on. */
const notFound = 5;

/**
 * The heartbeats of one attempt. The regular beat is the SDK's own: it keeps the attempt alive at the server and in the worker, and
 * delivers cancellation, but is throttled and unacknowledged. `record` calls the server directly and resolves once it has stored the
 * details for the workflow or the next attempt.
 */
export class AcknowledgedHeartbeat {
  /** Aborts when the job is cancelled, the server has dropped the attempt, or the worker shuts down. */
  readonly signal: AbortSignal;
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private details: object = {};
  private recorded: object | undefined;
  private readonly timeoutMs: number;
  /** When the server last confirmed this attempt. Undefined after a suspension, since the task may be older than it. */
  private aliveAt: Moment | undefined;
  private readonly startedAt = momentNow();

  /** `lasting` becomes part of every heartbeat's details. */
  constructor(
    private readonly context: Context,
    private readonly lasting: object = {},
  ) {
    this.signal = AbortSignal.any([this.controller.signal, context.cancellationSignal]);
    this.timeoutMs = context.info.heartbeatTimeoutMs ?? 10_000;
    this.aliveAt = processPulse.hasWokenWithin(this.timeoutMs) ? undefined : momentNow();
  }

  /** Starts the regular beat. Without it, no beat can overtake a record, but the heartbeat timeout keeps running. */
  start(): void {
    this.timer ??= setInterval(() => this.context.heartbeat(this.details), this.timeoutMs / 3);
  }

  /** Beats now: the worker drops an attempt without a regular beat, even if `record` has reached the server. */
  beat(): void {
    this.context.heartbeat(this.details);
  }

  /** Replaces the details of the next regular beat; sends nothing. */
  update(details: object): void {
    this.details = { ...this.lasting, ...details };
  }

  /** Adds to the details of the next regular beat; sends nothing. */
  add(details: object): void {
    this.details = { ...this.details, ...details };
  }

  /**
   * Resolves once the server has stored these details.
   * @throws CancelledFailure when the job was cancelled or the server has dropped this attempt.
   */
  async record(details: object): Promise<void> {
    this.update(details);
    // Replaces a beat that the SDK still holds back, which would arrive later with outdated details.
    if (this.timer) this.context.heartbeat(this.details);
    await this.send();
    this.recorded = this.details;
    this.controller.signal.throwIfAborted();
  }

  /** Records additional details for the next attempt. Fails if Temporal is unreachable, as completing the attempt would. */
  async recordLast(details: object): Promise<void> {
    await this.record({ ...this.details, ...details });
  }

  /**
   * Call before an action that a dropped attempt must not take. Undefined: act now, in this tick. A promise: the server is being asked;
   * call again when it resolves. Short attempts never have to ask.
   * @throws CancelledFailure through the promise, as `record` does.
   */
  confirm(): Promise<void> | undefined {
    const { aliveAt } = this;
    // Half, because the server's timers started before ours, and the action takes time too.
    if (aliveAt && elapsedMs(aliveAt) < Math.min(this.timeoutMs, this.leftMs(aliveAt)) / 2) return undefined;
    return this.record(this.details);
  }

  /** Until the activity's deadline, when the server drops an attempt however young it is. */
  private leftMs(at: Moment): number {
    const { scheduledTimestampMs, scheduleToCloseTimeoutMs, currentAttemptScheduledTimestampMs } = this.context.info;
    const leftAtStartMs = scheduledTimestampMs + scheduleToCloseTimeoutMs - currentAttemptScheduledTimestampMs;
    return leftAtStartMs - elapsedMs(this.startedAt, at);
  }

  /** Call before an attempt fails: sends details newer than the last record, if the beat has started. */
  sendBeforeFailure(): void {
    if (this.timer && this.details !== this.recorded) this.context.heartbeat(this.details);
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private async send(): Promise<void> {
    const { client, info } = this.context;
    const sentAt = momentNow();
    const payloads = await encodePayload(client.options.loadedDataConverter, this.details);
    try {
      const answer = await client.withDeadline(Date.now() + callTimeoutMs, () =>
        client.workflowService.recordActivityTaskHeartbeat({
          namespace: info.namespace,
          taskToken: info.taskToken,
          details: { payloads },
        }),
      );
      this.aliveAt = sentAt;
      if (answer.cancelRequested) this.controller.abort(new CancelledFailure('CANCELLED'));
    } catch (error) {
      // The server has dropped this attempt, so its work no longer counts.
      if (isGrpcServiceError(error) && (error.code as number) === notFound) {
        this.controller.abort(new CancelledFailure('NOT_FOUND'));
        return;
      }
      throw new ServiceError('Temporal did not acknowledge a heartbeat', { cause: error as Error });
    }
  }
}

/** A moment by two clocks: the monotonic clock can't be set, and the wall clock continues while the machine sleeps. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

function momentNow(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

/** The longer of the two: a wall clock set forward only costs an unneeded check. */
export function elapsedMs(since: Moment, now: Moment = momentNow()): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
}

const beatMs = 1_000;
/** A busy process may miss a beat or two. */
const maxPauseMs = 3_000;

/** Detects that this process was suspended, by a signal or with its machine: data in its sockets may be stale then. */
export class ProcessPulse {
  private timer: NodeJS.Timeout | undefined;
  private last: Moment;
  private wokeAt: Moment | undefined;

  constructor(private readonly now: () => Moment = momentNow) {
    this.last = now();
  }

  start(): void {
    this.timer ??= setInterval(() => this.beat(), beatMs).unref();
  }

  /** Whether the process resumed within the last `ms`; also detects a suspension that has just ended. */
  hasWokenWithin(ms: number): boolean {
    this.beat();
    return this.wokeAt !== undefined && elapsedMs(this.wokeAt, this.last) < ms;
  }

  beat(): void {
    const now = this.now();
    if (elapsedMs(this.last, now) > maxPauseMs) this.wokeAt = now;
    this.last = now;
  }
}

/** The worker process's pulse; inactive until started. */
export const processPulse = new ProcessPulse();
