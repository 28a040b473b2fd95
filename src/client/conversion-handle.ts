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

/** A job that ended without a result; `code` is the document's error code or one of ours. */
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
  /** The job was already running when it was requested. */
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
   * @throws ConversionFailedError if the job failed, was `CANCELLED` or `TERMINATED`, or timed out (`TIMED_OUT`).
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
   * Tells a parked job to try again now: vCredits were added, the account was fixed, or there is room. Returns its state, or undefined
   * if no worker answers within 3 seconds; the request then waits for a worker.
   */
  async appReady(): Promise<ConversionJobState | undefined> {
    const word: AppReady = { sentAt: Date.now() };
    return updateOrSignal<ConversionJobState>(this.workflow, appReadySignal, [word]);
  }
}

/**
 * Waits for a workflow's result. After a reset, follows the new run, as the SDK does after continue-as-new, but not a later workflow
 * under the same id.
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

/** A running worker answers sooner. */
const answerWithinMs = 3_000;

/**
 * Sends an Update to a workflow and returns its answer. If no worker answers, or the server accepts no Update, sends the signal of the
 * same name, which waits for a worker, and returns undefined.
 * @throws InvalidRequestError if the workflow refuses.
 */
export async function updateOrSignal<Answer>(
  workflow: WorkflowHandle,
  name: string,
  args: unknown[] = [],
): Promise<Answer | undefined> {
  try {
    return await workflow.client.withDeadline(Date.now() + answerWithinMs, () =>
      workflow.executeUpdate<Answer, [unknown]>(name, { args: args as [unknown] }),
    );
  } catch (error) {
    // The server may support no Updates, or too many may be pending.
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
