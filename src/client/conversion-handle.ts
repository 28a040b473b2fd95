import {
  WorkflowFailedError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type WorkflowHandle,
} from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common';
import { describeWorkflow, firstRunOf } from '../history/find-workflow';
import type { AppReady, ConversionFailureDetails, ConversionJobResult, ConversionJobState } from '../job/types';
import { appReadySignal, conversionStateQuery, updateRefused } from '../job/names';
import { hasStatus } from '../history/grpc';
import { InvalidRequestError } from './job-request';

/** A job that ended without a file; `code` is the document's error code or one of ours. */
export class ConversionFailedError extends Error {
  override readonly name = 'ConversionFailedError';
  readonly code: string;
  readonly workflowId: string;
  readonly details: ConversionFailureDetails | undefined;

  constructor(options: {
    code: string;
    message: string;
    workflowId: string;
    details?: ConversionFailureDetails | undefined;
    cause: unknown;
  }) {
    super(options.message, { cause: options.cause });
    this.code = options.code;
    this.workflowId = options.workflowId;
    this.details = options.details;
  }
}

export class ConversionHandle {
  /** It ran already when it was asked for. */
  readonly isAttached: boolean;

  constructor(
    private readonly workflow: WorkflowHandle,
    { isAttached = false }: { isAttached?: boolean } = {},
  ) {
    this.isAttached = isAttached;
  }

  get workflowId(): string {
    return this.workflow.workflowId;
  }

  /**
   * Waits without limit for the job to end.
   * @throws ConversionFailedError when the job failed, was `CANCELLED` or `TERMINATED`, or timed out (`TIMED_OUT`).
   */
  async result(): Promise<ConversionJobResult> {
    try {
      return (await resultOf(this.workflow)) as ConversionJobResult;
    } catch (error) {
      throw error instanceof WorkflowFailedError ? toConversionFailed(error, this.workflowId) : error;
    }
  }

  /** Current state of the job. Needs a running worker. */
  async state(): Promise<ConversionJobState> {
    return this.workflow.query<ConversionJobState>(conversionStateQuery);
  }

  /** Temporal's description of the job: status, start, pending activities. Needs no worker. */
  async describe() {
    return describeWorkflow(this.workflow);
  }

  /** Stops waiting and cleans up; a conversion that the service has accepted continues there. */
  async cancel(): Promise<void> {
    await this.workflow.cancel();
  }

  /**
   * Tells a parked job to try again now: vCredits were added, the account is mended, or there is room. Returns its state;
   * undefined when no worker has answered within 3 seconds: the job hears of it when one does.
   */
  async appReady(): Promise<ConversionJobState | undefined> {
    const word: AppReady = { saidAt: Date.now() };
    return tell<ConversionJobState>(this.workflow, appReadySignal, [word]);
  }
}

/**
 * Waits for a workflow's result. One that somebody resets goes on as a new run: that one is waited for, as the SDK does after a
 * continue-as-new. A later workflow under the same id is another one.
 */
export async function resultOf(workflow: WorkflowHandle): Promise<unknown> {
  const { workflowId, client } = workflow;
  const firstRunId = firstRunOf(await workflow.describe());
  for (let run = workflow; ;) {
    try {
      return await run.result();
    } catch (error) {
      if (!(error instanceof WorkflowFailedError && error.cause instanceof TerminatedFailure)) throw error;
      const latest = await client.getHandle(workflowId).describe();
      if (latest.status.name === 'TERMINATED' || firstRunOf(latest) !== firstRunId) throw error;
      run = client.getHandle(workflowId, latest.runId);
    }
  }
}

function toConversionFailed(error: WorkflowFailedError, workflowId: string): ConversionFailedError {
  const { cause } = error;
  const { code, message } = endOf(error);
  if (cause instanceof ApplicationFailure) {
    const details = cause.details?.[0] as ConversionFailureDetails | undefined;
    return new ConversionFailedError({ code, message, workflowId, details, cause });
  }
  return new ConversionFailedError({ code, message: `job ${workflowId} ${message}`, workflowId, cause: error });
}

/** How a workflow without a result ended: its failure's code, or `CANCELLED`, `TERMINATED` or `TIMED_OUT`. */
export function endOf({ cause, message }: WorkflowFailedError): { code: string; message: string } {
  if (cause instanceof ApplicationFailure) return { code: cause.type ?? 'FAILED', message: cause.message };
  const ended = `ended without a result: ${cause?.message ?? message}`;
  if (cause instanceof CancelledFailure) return { code: 'CANCELLED', message: ended };
  return { code: cause instanceof TerminatedFailure ? 'TERMINATED' : 'TIMED_OUT', message: ended };
}

/** A worker that is there answers sooner. */
const answerWithinMs = 3_000;

/**
 * Tells a workflow something by the Update of this name, and returns its answer. If no worker answers, by the signal of
 * the same name, which waits for one; then there is no answer. The same if the server takes no Update.
 * @throws InvalidRequestError when the workflow refuses.
 */
export async function tell<Answer>(
  workflow: WorkflowHandle,
  name: string,
  args: unknown[] = [],
): Promise<Answer | undefined> {
  try {
    return await workflow.client.withDeadline(Date.now() + answerWithinMs, () =>
      workflow.executeUpdate<Answer, [unknown]>(name, { args: args as [unknown] }),
    );
  } catch (error) {
    // The server may take no Updates, or too many of them may wait.
    const isRefused = hasStatus(error, 'PERMISSION_DENIED', 'UNIMPLEMENTED', 'RESOURCE_EXHAUSTED');
    if (isRefused || error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
      await workflow.signal(name, ...args);
      return undefined;
    }
    const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
    if (!(cause instanceof ApplicationFailure) || cause.type !== updateRefused) throw error;
    throw new InvalidRequestError(cause.message, { cause: error });
  }
}
