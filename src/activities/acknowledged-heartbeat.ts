import type { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { encodeToPayloads } from '@temporalio/common/lib/internal-non-workflow';
import { ServiceError, isGrpcServiceError } from '@temporalio/client';

const callTimeoutMs = 5_000;
/** gRPC's status NOT_FOUND. */
const notFound = 5;

/**
 * Heartbeats of one activity attempt, sent one after the other and acknowledged by the server.
 *
 * The SDK's own `heartbeat()` is throttled and returns before the server knows of it, so an older detail can arrive after a newer one.
 * Here what `record` resolved for is what the workflow, or the next attempt, will read.
 */
export class AcknowledgedHeartbeat {
  /** Aborts when the job is cancelled, the server has given the attempt up, or the worker shuts down. */
  readonly signal: AbortSignal;
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private last: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(
    private readonly context: Context,
    private details: object,
  ) {
    this.signal = AbortSignal.any([this.controller.signal, context.cancellationSignal]);
    const timeoutMs = context.info.heartbeatTimeoutMs ?? 10_000;
    this.timer = setInterval(() => void this.beat().catch(this.noteMissedBeat), timeoutMs / 3);
  }

  /** Replaces the details of the next regular heartbeat; costs nothing now. */
  update(details: object): void {
    this.details = details;
  }

  /**
   * Resolves once the server has stored these details.
   * @throws CancelledFailure when the job was cancelled or this attempt has been given up.
   */
  async record(details: object): Promise<void> {
    this.details = details;
    await this.beat();
    this.controller.signal.throwIfAborted();
  }

  /** No heartbeat is under way any more once this resolves. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    await this.last.catch(() => undefined);
  }

  private beat(): Promise<void> {
    const next = this.last.catch(() => undefined).then(() => (this.stopped ? undefined : this.send()));
    this.last = next;
    return next;
  }

  private async send(): Promise<void> {
    const { client, info } = this.context;
    const payloads = await encodeToPayloads(client.options.loadedDataConverter, this.details);
    try {
      const answer = await client.withDeadline(Date.now() + callTimeoutMs, () =>
        client.workflowService.recordActivityTaskHeartbeat({
          namespace: info.namespace,
          taskToken: info.taskToken,
          details: { payloads: payloads ?? [] },
        }),
      );
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

  private readonly noteMissedBeat = (error: unknown): void => {
    this.context.log.warn('A heartbeat was not acknowledged; the next one follows.', { error });
  };
}

function isNotFound(error: unknown): boolean {
  // The enum of gRPC's statuses belongs to a package that is not ours to import.
  return isGrpcServiceError(error) && (error.code as number) === notFound;
}
