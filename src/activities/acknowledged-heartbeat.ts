import type { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { encodeToPayloads } from '@temporalio/common/lib/internal-non-workflow';
import { ServiceError, isGrpcServiceError } from '@temporalio/client';
import type { Moment } from './process-pulse';
import { elapsedMs, momentNow, processPulse } from './process-pulse';

const callTimeoutMs = 5_000;
/** gRPC's status NOT_FOUND. */
const notFound = 5;

/**
 * The heartbeats of one activity attempt.
 *
 * Two kinds, for two ends. The regular beat is the SDK's own: it keeps the attempt alive, at the server and in the worker's own account of
 * its time-outs, and brings cancellation; it is throttled, and returns before the server knows of it. `record` asks the server itself and
 * waits for its answer: what it resolved for is what the workflow, or the next attempt, will read.
 */
export class AcknowledgedHeartbeat {
  /** Aborts when the job is cancelled, the server has given the attempt up, or the worker shuts down. */
  readonly signal: AbortSignal;
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private details: object = {};
  private recorded: object | undefined;
  private readonly timeoutMs: number;
  /** When the server was last known to count on this attempt; undefined: the task may have waited for a process that stood still. */
  private aliveAt: Moment | undefined;

  /** `lasting` is part of the details of every beat. */
  constructor(
    private readonly context: Context,
    private readonly lasting: object = {},
  ) {
    this.signal = AbortSignal.any([this.controller.signal, context.cancellationSignal]);
    this.timeoutMs = context.info.heartbeatTimeoutMs ?? 10_000;
    this.aliveAt = processPulse.hasWokenWithin(this.timeoutMs) ? undefined : momentNow();
  }

  /**
   * Begins the regular beat. An attempt that never starts it must be done within the heartbeat time-out, and its records can't be
   * overtaken by an older beat.
   */
  start(): void {
    this.timer ??= setInterval(() => this.context.heartbeat(this.details), this.timeoutMs / 3);
  }

  /** A regular beat now. The worker gives up an attempt that it has not seen beat in time, whatever the server was told by `record`. */
  beat(): void {
    this.context.heartbeat(this.details);
  }

  /** Replaces the details of the next regular beat; costs nothing now. */
  update(details: object): void {
    this.details = { ...this.lasting, ...details };
  }

  /** Adds to the details of the next regular beat; costs nothing now. */
  add(details: object): void {
    this.details = { ...this.details, ...details };
  }

  /**
   * Resolves once the server has stored these details.
   * @throws CancelledFailure when the job was cancelled or this attempt has been given up.
   */
  async record(details: object): Promise<void> {
    this.update(details);
    // A beat that the SDK still holds back would arrive later, with what was true before.
    if (this.timer) this.context.heartbeat(this.details);
    await this.send();
    this.recorded = this.details;
    this.controller.signal.throwIfAborted();
  }

  /** Adds to what the next attempt will read, right before this one ends. When Temporal can't be told, it can't be told of the end either. */
  async recordLast(details: object): Promise<void> {
    await this.record({ ...this.details, ...details });
  }

  /**
   * Before what must not be done by an attempt that the server has given up: undefined when it may be done now, in this very tick; else it is
   * being asked, and this is to be called again then. Most attempts are done so soon that nobody needs to be asked.
   * @throws CancelledFailure by way of the promise, as `record` does.
   */
  confirm(): Promise<void> | undefined {
    // Half of it: the server began to count before we did, and what follows takes its time too.
    if (this.aliveAt && elapsedMs(this.aliveAt) < this.timeoutMs / 2) return undefined;
    return this.record(this.details);
  }

  /** Before a failure of which the SDK tells the server: details that are newer than the last record go with it, once the beat has begun. */
  tellWithFailure(): void {
    if (this.timer && this.details !== this.recorded) this.context.heartbeat(this.details);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async send(): Promise<void> {
    const { client, info } = this.context;
    const sentAt = momentNow();
    const payloads = await encodeToPayloads(client.options.loadedDataConverter, this.details);
    try {
      const answer = await client.withDeadline(Date.now() + callTimeoutMs, () =>
        client.workflowService.recordActivityTaskHeartbeat({
          namespace: info.namespace,
          taskToken: info.taskToken,
          details: { payloads: payloads ?? [] },
        }),
      );
      this.aliveAt = sentAt;
      if (answer.cancelRequested) this.controller.abort(new CancelledFailure('CANCELLED'));
    } catch (error) {
      // The server has given this attempt up, so whatever it does now is nobody's.
      if (isNotFound(error)) {
        this.controller.abort(new CancelledFailure('NOT_FOUND'));
        return;
      }
      throw new ServiceError('Temporal did not acknowledge a heartbeat', { cause: error as Error });
    }
  }
}

function isNotFound(error: unknown): boolean {
  // The enum of gRPC's statuses belongs to a package that is not ours to import.
  return isGrpcServiceError(error) && (error.code as number) === notFound;
}
