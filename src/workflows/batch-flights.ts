import {
  CancellationScope,
  ChildWorkflowFailure,
  ParentClosePolicy,
  WorkflowIdReusePolicy,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { BatchItem, BatchItemResult, ConversionBatchInput } from '../shared/batch';
import type { AwaitedJob, JobOutcome } from '../shared/batch-activities';
import type { ConversionJobInput } from '../shared/job';
import { jobSummary } from '../shared/job';
import { outcomeOfFailure, outcomeOfResult } from '../shared/job-outcome';
import { conversionJobType } from '../shared/names';
import { listingOptions, settableAttributes, startingAttributes } from '../shared/search-attributes';
import { jobDetails } from '../shared/static-details';
import { batchActivities } from './batch-activities';
import type { conversionJob } from './conversion-job';

/** An item whose job is under way; carried from run to run. */
export interface Flight {
  item: BatchItem;
  /** Milliseconds since the epoch. */
  startedAt: number;
  runId?: string;
  /** A job with this item's id exists that this batch has not started. */
  isFound?: true;
}

/** Behind single jobs, which somebody waits for; Temporal's default is 3. */
const batchPriority = { priorityKey: 4 };

/**
 * The jobs of a batch that are under way. Those that this run has started report by Temporal's own completion of a child, however they end; those
 * of earlier runs are waited for by one activity. Starts are never awaited one by one, which would halve the speed.
 */
export class BatchFlights {
  private readonly flights = new Map<string, Flight>();
  /** Ids of those that the activity waits for. */
  private readonly awaited = new Set<string>();
  private awaiting: CancellationScope | undefined;
  /** Starts and cancellations whose answer is still to come. */
  private unconfirmed = 0;
  private isCancelling = false;
  private isResting = false;
  private readonly batchId = workflowInfo().workflowId;
  /** Whoever started the batch knew which search attributes the namespace has. */
  private readonly settable = settableAttributes(workflowInfo());

  constructor(
    private readonly input: ConversionBatchInput,
    private readonly onEnded: (result: BatchItemResult) => void,
  ) {}

  get count(): number {
    return this.flights.size;
  }

  /** Whether the job of this id is under way. */
  has(workflowId: string): boolean {
    return this.flights.has(workflowId);
  }

  /** What the next run has to know. */
  carry(): Flight[] {
    return [...this.flights.values()];
  }

  /** Goes on with jobs of the run before. */
  adopt(flights: readonly Flight[]): void {
    for (const flight of flights) {
      const id = this.idOf(flight);
      this.flights.set(id, flight);
      this.awaited.add(id);
    }
    this.awaitOthers();
  }

  start(item: BatchItem): void {
    const flight: Flight = { item, startedAt: Date.now() };
    this.flights.set(this.idOf(flight), flight);
    // A job that an earlier run of this batch has converted is looked at before anything is paid again.
    void this.launch(flight, WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY);
  }

  /** Ends every job under way, and those whose start is still to be confirmed. */
  cancel(): void {
    if (this.isCancelling) return;
    this.isCancelling = true;
    for (const flight of this.flights.values()) void this.cancelOne(flight);
  }

  /**
   * Resolves when the batch can go on as a new run. A child whose start is not confirmed by then would silently never be started.
   */
  async rest(): Promise<void> {
    this.isResting = true;
    this.awaiting?.cancel();
    await condition(() => this.unconfirmed === 0 && this.awaiting === undefined);
  }

  private async launch(flight: Flight, workflowIdReusePolicy: WorkflowIdReusePolicy): Promise<void> {
    const input = this.jobInput(flight.item);
    const workflowId = this.idOf(flight);
    let child;
    this.unconfirmed += 1;
    try {
      child = await startChild<typeof conversionJob>(conversionJobType, {
        workflowId,
        args: [input],
        workflowIdReusePolicy,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        priority: batchPriority,
        staticSummary: jobSummary(input),
        staticDetails: jobDetails(input),
        ...listingOptions(startingAttributes(input, { batchId: this.batchId }), this.settable),
      });
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) this.awaitFound(flight);
      else this.end(flight, outcomeOfFailure(error));
      return;
    } finally {
      this.unconfirmed -= 1;
    }
    flight.runId = child.firstExecutionRunId;
    if (this.isCancelling) void this.cancelOne(flight);
    let outcome: JobOutcome;
    try {
      outcome = outcomeOfResult(await child.result());
    } catch (error) {
      outcome = outcomeOfFailure(error instanceof ChildWorkflowFailure ? error.cause : error);
    }
    this.end(flight, outcome);
  }

  private awaitFound(flight: Flight): void {
    flight.isFound = true;
    delete flight.runId;
    this.awaited.add(this.idOf(flight));
    if (this.isCancelling) void this.cancelOne(flight);
    // One that waits for days must not keep this one from being noticed.
    if (this.awaiting) this.awaiting.cancel();
    else this.awaitOthers();
  }

  private awaitOthers(): void {
    if (this.awaiting || this.isResting || this.awaited.size === 0) return;
    const scope = new CancellationScope();
    this.awaiting = scope;
    const jobs = [...this.awaited].flatMap((id) => this.awaitedJob(id));
    void scope
      .run(() => batchActivities['conversion.awaitJobs']({ jobs }))
      .then(
        ({ ended }) => {
          for (const { workflowId, runId, outcome } of ended) this.landOther({ workflowId, runId, outcome });
        },
        (error: unknown) => {
          if (isCancellation(error)) return;
          for (const id of this.awaited) this.landOther({ workflowId: id, outcome: outcomeOfFailure(error) });
        },
      )
      .finally(() => {
        this.awaiting = undefined;
        this.awaitOthers();
      });
  }

  private awaitedJob(workflowId: string): AwaitedJob[] {
    const flight = this.flights.get(workflowId);
    if (!flight) return [];
    const { runId, isFound, item } = flight;
    return [{ workflowId, ...(runId !== undefined && { runId }), ...(isFound && { expected: this.jobInput(item) }) }];
  }

  private landOther(ended: {
    workflowId: string;
    runId?: string | undefined;
    outcome: JobOutcome | 'notStarted' | 'notOurs';
  }): void {
    const { workflowId, runId, outcome } = ended;
    const flight = this.flights.get(workflowId);
    if (!flight || !this.awaited.delete(workflowId)) return;
    if (typeof outcome === 'object') {
      if (runId !== undefined) flight.runId = runId;
      this.end(flight, outcome);
    } else if (this.isCancelling) {
      this.end(flight, { status: 'cancelled' });
    } else {
      delete flight.isFound;
      delete flight.runId;
      void this.launch(flight, WorkflowIdReusePolicy.ALLOW_DUPLICATE);
    }
  }

  /** A job that has ended meanwhile needs no cancellation. */
  private async cancelOne(flight: Flight): Promise<void> {
    if (flight.runId === undefined && !flight.isFound) return;
    this.unconfirmed += 1;
    await getExternalWorkflowHandle(this.idOf(flight))
      .cancel()
      .catch(() => undefined);
    this.unconfirmed -= 1;
  }

  private end({ item, startedAt, runId }: Flight, outcome: JobOutcome): void {
    const workflowId = `${this.batchId}/${item.item}`;
    if (!this.flights.delete(workflowId)) return;
    this.onEnded({
      item: item.item,
      ...outcome,
      ...(runId !== undefined && { workflowId, runId }),
      startedAt,
      durationMs: Date.now() - startedAt,
    });
  }

  private idOf({ item }: Flight): string {
    return `${this.batchId}/${item.item}`;
  }

  private jobInput({ source, output, input, destination, onExisting }: BatchItem): ConversionJobInput {
    const { app, mode, policies } = this.input;
    const existing = onExisting ?? this.input.onExisting;
    return {
      app,
      source: { uri: source },
      output,
      ...(input !== undefined && { input }),
      destination,
      ...(existing !== undefined && { onExisting: existing }),
      ...(mode && { mode }),
      describeSource: true,
      ...(policies && { policies }),
    };
  }
}
