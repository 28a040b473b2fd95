import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowFailedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { FindingList } from '../batch/findings';
import type { BatchReport } from '../batch/report/report';
import { reportOf } from '../batch/report/report-of';
import { readRows } from '../batch/run-folders';
import { folderOf } from '../batch/uris';
import { findWorkflow, readStartInput } from '../history/find-workflow';
import type { BatchCancel, ConversionBatchInput } from '../batch/model/types';
import type { BatchItemResult, BatchState, ConversionBatchResult } from '../batch/model/state';
import { isOpen } from '../job/job-outcome';
import {
  conversionBatchType,
  batchCancelSignal,
  batchPauseSignal,
  batchResumeSignal,
  batchStateQuery,
  batchWindowSignal,
} from '../job/names';
import type { FileStore } from '../storage/file-store';
import { endOf, resultOf, updateOrSignal } from './conversion-handle';
import { hasStatus, refusalOf } from '../history/grpc';
import { InvalidRequestError } from './job-request';

const askEveryMs = 1_000;

/** A batch with this name is already running: wait for it or cancel it before you start it again. */
export class BatchRunningError extends Error {
  override readonly name = 'BatchRunningError';

  constructor(
    readonly batch: string,
    options?: ErrorOptions,
  ) {
    super(`Batch ${batch} is running. Wait for its end or cancel it, or choose another name.`, options);
  }
}

/** The batch itself failed; failed items do not cause this error. `code` is one of ours. */
export class BatchFailedError extends Error {
  override readonly name = 'BatchFailedError';

  constructor(
    readonly batch: string,
    readonly code: string,
    message: string,
    options: ErrorOptions,
    readonly refusedPlan?: RefusedPlan,
  ) {
    super(message, options);
  }
}

export class BatchHandle {
  constructor(
    private readonly workflow: WorkflowHandle,
    private readonly files: FileStore,
  ) {}

  get name(): string {
    return this.workflow.workflowId;
  }

  /**
   * Waits without limit for the batch to end. Failed items are part of the result.
   * @throws BatchFailedError if the batch itself failed, was terminated (`TERMINATED`) or timed out (`TIMED_OUT`).
   */
  async result(): Promise<ConversionBatchResult> {
    try {
      return (await resultOf(this.workflow)) as ConversionBatchResult;
    } catch (error) {
      if (!(error instanceof WorkflowFailedError)) throw error;
      const { code, message } = endOf(error);
      throw new BatchFailedError(
        this.name,
        code,
        `batch ${this.name}: ${message}`,
        { cause: error },
        refusedPlanOf(error),
      );
    }
  }

  /**
   * Yields the batch's state whenever it changes, and finally its result. Yields no state while no worker answers.
   * @throws BatchFailedError
   */
  async *progress({ everyMs = askEveryMs } = {}): AsyncGenerator<BatchState> {
    let shown = '';
    while (isOpen(await this.workflow.describe())) {
      const state = await this.state().catch(() => undefined);
      const text = JSON.stringify(state);
      if (state && text !== shown) yield state;
      shown = text;
      await sleep(everyMs);
    }
    yield await this.result();
  }

  /**
   * Waits for the batch to end, then yields the result of each item, in order. Can be called again, for example after a restart. Unless
   * the items were inline, the client needs access to the batch's folder.
   * @throws BatchFailedError; the reason of the signal, which ends the wait but not the batch.
   */
  async *results({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<BatchItemResult> {
    signal?.throwIfAborted();
    const ended = () => this.result();
    const waiting = signal ? this.workflow.client.withAbortSignal(signal, ended) : ended();
    const { itemResults, folder } = await waiting.catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
    if (itemResults) yield* itemResults;
    else if (folder !== undefined)
      for await (const { result } of readRows(this.files, { folder }, signal)) if (result) yield result;
  }

  /**
   * Waits for the batch to end and returns its report, which is written now if the batch could not do so.
   * @throws BatchFailedError; InvalidRequestError for inline items, which have no report.
   */
  async report(): Promise<BatchReport> {
    const state = await this.result();
    if (state.results === undefined) {
      const why = state.planned ? 'there was nothing to do' : 'its items were inline. See its results';
      throw new InvalidRequestError(`Batch ${this.name} has no report: ${why}.`);
    }
    return reportOf(this.files, { batch: this.name, folder: folderOf(state.results), state });
  }

  /** Status and counts of the batch. Needs a running worker. */
  async state(): Promise<BatchState> {
    return this.workflow.query<BatchState>(batchStateQuery);
  }

  /** Temporal's description of the batch. Needs no worker. */
  async describe() {
    return this.workflow.describe();
  }

  /**
   * Starts no more jobs until `resume`; jobs in flight continue. Like the methods below, returns the new state, or undefined if no
   * worker answers within 3 seconds; the request then waits for a worker.
   * @throws InvalidRequestError if the batch starts no more jobs anyway.
   */
  async pause(): Promise<BatchState | undefined> {
    return updateOrSignal<BatchState>(this.workflow, batchPauseSignal);
  }

  /** @throws InvalidRequestError if the batch starts no more jobs. */
  async resume(): Promise<BatchState | undefined> {
    return updateOrSignal<BatchState>(this.workflow, batchResumeSignal);
  }

  /**
   * Starts no more jobs, and cancels those in flight unless `inFlight` is `finish`; completes once they have ended.
   * @throws InvalidRequestError
   */
  async cancel(request: BatchCancel = {}): Promise<BatchState | undefined> {
    return updateOrSignal<BatchState>(this.workflow, batchCancelSignal, [request]);
  }

  /**
   * Sets the maximum number of jobs in flight, 1 to 500; any excess jobs finish normally.
   * @throws InvalidRequestError
   */
  async setWindow(window: number): Promise<BatchState | undefined> {
    return updateOrSignal<BatchState>(this.workflow, batchWindowSignal, [window]);
  }
}

/** Problems and warnings of a refused plan, the first 100 of each. */
export interface RefusedPlan {
  problems: FindingList;
  warnings: FindingList;
}

function refusedPlanOf({ cause }: WorkflowFailedError): RefusedPlan | undefined {
  const [details]: unknown[] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  const found = details as Partial<RefusedPlan> | undefined;
  return Array.isArray(found?.problems?.listed) ? (found as RefusedPlan) : undefined;
}

/** Whether the batch was certainly not started: after any other error, the server may have executed the request. */
export function isRefusedStart(error: unknown): boolean {
  if (error instanceof BatchRunningError || error instanceof InvalidRequestError) return true;
  const isInvalid = hasStatus(error, 'INVALID_ARGUMENT', 'NOT_FOUND', 'ALREADY_EXISTS', 'FAILED_PRECONDITION');
  return isInvalid || hasStatus(error, 'PERMISSION_DENIED', 'UNIMPLEMENTED', 'UNAUTHENTICATED');
}

export interface ListedBatch {
  name: string;
  runId: string;
  /** `RUNNING`, `PAUSED`, `COMPLETED`, `FAILED`, `CANCELLED`, `TERMINATED`, `TIMED_OUT` or `CONTINUED_AS_NEW`. */
  status: string;
  /** Start of the listed run. */
  startedAt: Date;
  endedAt?: Date;
  /** Final status and counts. Absent while the batch runs, or if it has no readable result. */
  result?: Pick<ConversionBatchResult, 'status' | 'items' | 'succeeded' | 'failed' | 'skipped' | 'cancelled'>;
}

/** Undefined if there is no such workflow, or if it is not a batch. */
export async function isBatchRunning(client: Client, name: string): Promise<boolean | undefined> {
  const found = await findWorkflow(client, name);
  return found?.type === conversionBatchType ? isOpen(found) : undefined;
}

/** Input of the batch's latest start; undefined if Temporal knows no such batch. */
export async function readBatchInput(client: Client, name: string): Promise<ConversionBatchInput | undefined> {
  if ((await isBatchRunning(client, name)) === undefined) return undefined;
  return (await readStartInput(client.workflow, { workflowId: name })) as ConversionBatchInput;
}

const readAtATime = 10;

/** The latest batches; for a batch that continued as new, only the latest run. */
export async function listBatches(client: Client, limit: number): Promise<ListedBatch[]> {
  const query = `WorkflowType = '${conversionBatchType}' AND ExecutionStatus != 'ContinuedAsNew'`;
  const batches: ListedBatch[] = [];
  for await (const { workflowId: name, runId, status, startTime, closeTime } of client.workflow.list({ query })) {
    batches.push({ name, runId, status: status.name, startedAt: startTime, ...(closeTime && { endedAt: closeTime }) });
    if (batches.length >= limit) break;
  }
  const ended = batches.filter(({ status }) => status === 'COMPLETED');
  for (let next = 0; next < ended.length; next += readAtATime) {
    await Promise.all(ended.slice(next, next + readAtATime).map((batch) => addResult(client, batch)));
  }
  return batches;
}

/** Leaves the result out if this client lacks the key for it, or if Temporal has deleted it since. */
async function addResult(client: Client, batch: ListedBatch): Promise<void> {
  const handle = client.workflow.getHandle(batch.name, batch.runId);
  const found = (await handle.result().catch((error: unknown) => {
    if (refusalOf(error)) throw error;
    return undefined;
  })) as ConversionBatchResult | undefined;
  if (!found) return;
  const { status, items, succeeded, failed, skipped, cancelled } = found;
  batch.result = { status, items, succeeded, failed, skipped, cancelled };
}
