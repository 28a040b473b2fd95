import { isGrpcServiceError, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import type { BatchCancel, BatchState, ConversionBatchResult } from '../shared/batch';
import {
  batchCancelSignal,
  batchPauseSignal,
  batchResumeSignal,
  batchStateQuery,
  batchWindowSignal,
} from '../shared/names';
import { checkCancel, checkWindow } from './batch-request';
import { endOf } from './conversion-handle';
import { InvalidRequestError } from './job-request';

/** A batch of this name is running: watch it, or cancel it before it is started anew. */
export class BatchRunningError extends Error {
  override readonly name = 'BatchRunningError';

  constructor(
    readonly batch: string,
    options: ErrorOptions,
  ) {
    super(`Batch ${batch} is running. Wait for its end or cancel it, or choose another name.`, options);
  }
}

/** A batch that could not do its work; failed items are no such case. `code` is one of ours. */
export class BatchFailedError extends Error {
  override readonly name = 'BatchFailedError';

  constructor(
    readonly batch: string,
    readonly code: string,
    message: string,
    options: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** One batch, running or ended. */
export class BatchHandle {
  constructor(private readonly workflow: WorkflowHandle) {}

  get name(): string {
    return this.workflow.workflowId;
  }

  /**
   * Waits for the batch to end, however long that takes. Failed items are part of the result.
   * @throws BatchFailedError when the batch itself could not go on, or was terminated (`TERMINATED`) or timed out (`TIMED_OUT`).
   */
  async result(): Promise<ConversionBatchResult> {
    try {
      return (await this.workflow.result()) as ConversionBatchResult;
    } catch (error) {
      if (!(error instanceof WorkflowFailedError)) throw error;
      const { code, message } = endOf(error);
      throw new BatchFailedError(this.name, code, `batch ${this.name}: ${message}`, { cause: error });
    }
  }

  /** How many items stand where. Needs a worker that is alive. */
  async state(): Promise<BatchState> {
    return this.workflow.query<BatchState>(batchStateQuery);
  }

  /** What Temporal knows of the batch. Needs no worker. */
  async describe() {
    return this.workflow.describe();
  }

  /** Starts no more jobs until `resume`; those in flight go on. */
  async pause(): Promise<void> {
    await this.workflow.signal(batchPauseSignal);
  }

  async resume(): Promise<void> {
    await this.workflow.signal(batchResumeSignal);
  }

  /**
   * Starts no more jobs; the batch ends with a result once those in flight have ended.
   * @throws InvalidRequestError
   */
  async cancel(request: BatchCancel = {}): Promise<void> {
    checkCancel(request);
    await this.workflow.signal(batchCancelSignal, request);
  }

  /**
   * From now on so many jobs at a time, 1 to 500; of more, those in flight go on.
   * @throws InvalidRequestError
   */
  async setWindow(window: number): Promise<void> {
    checkWindow(window);
    await this.workflow.signal(batchWindowSignal, window);
  }
}

/** gRPC's statuses that the server answers with instead of doing what it was asked; all others may have come after it. */
const refusals: readonly number[] = [3, 5, 6, 7, 9, 12, 16];

/** Whether it is certain that a batch was not started. */
export function isRefusedStart(error: unknown): boolean {
  if (error instanceof BatchRunningError || error instanceof InvalidRequestError) return true;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  // The enum of gRPC's statuses belongs to a package that is not ours to import.
  return isGrpcServiceError(cause) && refusals.includes(cause.code);
}
