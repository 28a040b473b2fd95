import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ChildWorkflowFailure,
  ParentClosePolicy,
  WorkflowIdReusePolicy,
  condition,
  getExternalWorkflowHandle,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { BatchItem, ConversionBatchInput } from '../../shared/batch';
import type { PlacedItem, SeenJob } from '../../shared/batch-activities';
import { defined } from '../../shared/defined';
import { type ConversionJobInput, type JobOutcome, jobSummary, type SharedUpload } from '../../shared/job';
import { jobIdOf, numberedDestination } from '../../shared/job-id';
import { outcomeOfFailure, outcomeOfResult, rowOfEarlier } from '../../shared/job-outcome';
import { conversionJobType, inBatchMemo } from '../../shared/names';
import { isListed, searchAttributes, startingAttributes, storable } from '../../shared/search-attributes';
import { jobDetails } from '../../shared/temporal-ui';
import type { conversionJob } from '../job/conversion-job';
import { BatchWaits } from './batch-waits';
import {
  carriedFlight,
  type CarriedFlight,
  type Flight,
  type FlightEvents,
  type FlightRows,
  type FlightStep,
} from './flight';
import { itemJobInput, itemJobPriority, takenBy, unreadable } from './item-job';
import { SourceUploads, type CarriedUploads } from './source-uploads';

/**
 * The items of a batch in flight. Jobs started by this run report through child workflow completion; one activity waits
 * for jobs of earlier runs. Starts are not awaited one by one, which would halve the throughput.
 *
 * Rows of one source are converted from one upload, made by the job of the first.
 *
 * A row whose job already exists gets no new one unless what that job left behind asks for it: see docs/repetition.md.
 */
export class BatchFlights {
  private readonly flights = new Map<number, Flight>();
  private readonly waits = new BatchWaits<Flight>(
    (flight, seen) => this.seen(flight, seen),
    (flight, error) => this.end(flight, { ...unreadable(error), charge: 'maybe' }),
  );
  /** See `NamesTold`. */
  hidesNames: true | undefined;
  private readonly uploads: SourceUploads;
  /** Starts and cancellations that Temporal has not confirmed yet. */
  private unconfirmed = 0;
  private isCancelling = false;
  isAwaitingAll = false;
  private readonly batchId = workflowInfo().workflowId;
  private readonly isListed = isListed(workflowInfo());
  private readonly tags = workflowInfo().typedSearchAttributes.get(searchAttributes.tags);

  constructor(
    private readonly input: ConversionBatchInput,
    private readonly rows: FlightRows,
    private readonly on: FlightEvents,
    uploads: CarriedUploads | undefined,
  ) {
    this.uploads = new SourceUploads(uploads);
  }

  get count(): number {
    return this.flights.size;
  }

  itemOf(workflowId: string): number | undefined {
    return [...this.flights.values()].find((flight) => flight.workflowId === workflowId)?.item;
  }

  carry(): CarriedFlight[] {
    return [...this.flights.values()].map(carriedFlight);
  }

  carryUploads(): CarriedUploads {
    return this.uploads.carry();
  }

  /** Continues items of the previous run. */
  adopt(flights: readonly CarriedFlight[]): void {
    for (const flight of flights) {
      this.flights.set(flight.item, flight);
      this.goOn(flight);
    }
  }

  /**
   * Of a batch that was reset: Temporal does not tell again which jobs ended while it was closed. From here on, the jobs of
   * this run are awaited like those of others.
   */
  awaitAll(): void {
    this.isAwaitingAll = true;
    for (const flight of this.flights.values()) if (flight.step.kind === 'started') this.goOn(flight);
  }

  start({ item: row, byte }: PlacedItem): void {
    const flight: Flight = {
      item: row.item,
      byte,
      workflowId: this.idOf(row),
      startedAt: Date.now(),
      step: { kind: 'starting' },
      ...(row.earlier && { earlier: row.earlier }),
      ...(row.sourceGroup !== undefined && { sourceGroup: row.sourceGroup }),
      row,
    };
    this.flights.set(flight.item, flight);
    if (this.isUploadExpected(flight)) flight.step = { kind: 'awaitsUpload' };
    else {
      this.expectUpload(flight);
      this.goOn(flight);
    }
  }

  /** Cancels every job in flight, including those whose start is not confirmed yet. */
  cancel(): void {
    if (this.isCancelling) return;
    this.isCancelling = true;
    for (const flight of this.flights.values()) this.cancelOne(flight);
  }

  /** Starts items whose source is uploaded by now, as far as the window has room; returns how many. */
  release(window: number): number {
    const waiting = this.waiting();
    let room = Math.max(window - (this.count - waiting.length), 0);
    let released = 0;
    for (const flight of waiting) {
      if (room === 0) break;
      if (this.isUploadExpected(flight)) continue;
      this.startAfter(flight, undefined);
      room -= 1;
      released += 1;
    }
    return released;
  }

  /** For a batch that starts no more jobs: ends what waits for an upload, and what waits for a person. */
  giveUpWaiting(parked: readonly number[]): void {
    for (const flight of this.waiting()) this.end(flight, { status: 'cancelled' });
    for (const item of parked) {
      const flight = this.flights.get(item);
      if (flight && !this.isCancelling) this.cancelOne(flight);
    }
  }

  /** Without an upload: the job has something to fetch. */
  uploaded(item: number, upload: SharedUpload | undefined): void {
    const flight = this.flights.get(item);
    if (flight?.sourceGroup === undefined) return;
    delete flight.isUploading;
    if (upload) this.uploads.keep(flight.sourceGroup, upload);
  }

  /** Once its job is about to start. */
  private expectUpload(flight: Flight): void {
    if (flight.earlier?.taskId !== undefined) this.expectNoUpload(flight);
    else if (flight.sourceGroup !== undefined) flight.isUploading = true;
  }

  private expectNoUpload(flight: Flight): void {
    if (flight.isUploading) this.on.released();
    delete flight.isUploading;
  }

  private isUploadExpected(flight: Flight): boolean {
    return this.uploads.isExpected(flight, this.flights.values());
  }

  private waiting(): Flight[] {
    return [...this.flights.values()].filter(({ step }) => step.kind === 'awaitsUpload');
  }

  /** Resolves when the batch can continue as new: a child whose start is not confirmed by then would never start. */
  async rest(): Promise<void> {
    await this.waits.rest();
    await condition(() => this.unconfirmed === 0);
  }

  private goOn(flight: Flight, step: FlightStep = flight.step): void {
    flight.step = step;
    const { workflowId, runId } = flight;
    const job = { workflowId, ...(runId !== undefined && { runId }) };
    switch (step.kind) {
      case 'starting':
        void this.launch(flight, step.after);
        return;
      case 'looking':
        void this.lookAt(flight);
        return;
      case 'blocked':
      case 'awaited':
      case 'started':
        this.waits.add(flight, job);
        return;
      case 'awaitsUpload':
    }
  }

  private async lookAt(flight: Flight): Promise<void> {
    const expected = await this.jobInput(flight);
    if (expected) this.waits.add(flight, { workflowId: flight.workflowId, expected });
  }

  private async launch(flight: Flight, after: string | undefined): Promise<void> {
    this.unconfirmed += 1;
    const child = await this.startJob(flight, after).finally(() => (this.unconfirmed -= 1));
    if (!child) return;
    flight.runId = child.firstExecutionRunId;
    flight.step = { kind: 'started' };
    if (this.isAwaitingAll) this.goOn(flight);
    if (this.isCancelling) this.cancelOne(flight);
    try {
      this.end(flight, outcomeOfResult(await child.result()));
    } catch (error) {
      const told = outcomeOfFailure(error instanceof ChildWorkflowFailure ? error.cause : error);
      if (told.charge !== undefined) this.end(flight, told);
      // It has ended without a word of what it left behind: its history tells.
      else this.goOn(flight, { kind: 'awaited' });
    }
  }

  /** Undefined when no job was started: the flight has ended, or has moved to another step. */
  private async startJob(flight: Flight, after: string | undefined) {
    const input = await this.jobInput(flight, after);
    if (!input) return undefined;
    if (this.isCancelling) {
      this.end(flight, { status: 'cancelled' });
      return undefined;
    }
    const attributes = storable(startingAttributes(input, { batchId: this.batchId, tags: this.tags }));
    const isNew = after === undefined;
    try {
      return await startChild<typeof conversionJob>(conversionJobType, {
        workflowId: flight.workflowId,
        args: [input],
        workflowIdReusePolicy: isNew ? WorkflowIdReusePolicy.REJECT_DUPLICATE : WorkflowIdReusePolicy.ALLOW_DUPLICATE,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        priority: itemJobPriority(),
        staticSummary: jobSummary(input),
        staticDetails: jobDetails(input),
        ...(this.isListed && { typedSearchAttributes: attributes }),
        memo: { [inBatchMemo]: true },
      });
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) this.goOn(flight, { kind: 'looking' });
      else this.end(flight, outcomeOfFailure(error));
      return undefined;
    }
  }

  private seen(flight: Flight, { runId, outcome, stands }: SeenJob): void {
    const { step } = flight;
    if (!this.flights.has(flight.item)) return;
    switch (step.kind) {
      case 'started':
      case 'awaited':
        // One that was reset ended in another run.
        if (runId !== undefined) flight.runId = runId;
        if (outcome) this.end(flight, outcome);
        // Temporal no longer knows it: another job finds out that nobody knows what it did.
        else this.startAfter(flight, flight.runId);
        return;
      case 'blocked':
        this.startAfter(flight, runId);
        return;
      case 'looking':
        if (stands?.isOpen && runId !== undefined) void this.foundOpen(flight, { ...stands, runId });
        else if (outcome) this.end(flight, outcome);
        else this.startAfter(flight, runId);
        return;
      case 'starting':
      case 'awaitsUpload':
    }
  }

  /** A job under this id runs, of this batch or somebody else's. */
  private async foundOpen(
    flight: Flight,
    { runId, isSame, source }: { runId: string; isSame: boolean; source: string },
  ): Promise<void> {
    if (isSame) {
      this.waitFor(flight, runId, 'awaited');
      return;
    }
    const { onExisting } = (await this.jobInput(flight)) ?? {};
    if (onExisting === 'overwrite') this.waitFor(flight, runId, 'blocked');
    else if (onExisting === 'rename' && flight.row) {
      flight.number = (flight.number ?? 1) + 1;
      flight.workflowId = this.idOf(flight.row, flight.number);
      this.startAfter(flight, undefined);
    } else this.end(flight, takenBy(flight.workflowId, source));
  }

  private startAfter(flight: Flight, after: string | undefined): void {
    delete flight.runId;
    if (this.isCancelling) {
      this.end(flight, { status: 'cancelled' });
      return;
    }
    this.expectUpload(flight);
    this.goOn(flight, { kind: 'starting', ...(after !== undefined && { after }) });
  }

  private waitFor(flight: Flight, runId: string, kind: 'blocked' | 'awaited'): void {
    flight.runId = runId;
    flight.step = { kind };
    this.expectNoUpload(flight);
    if (this.isCancelling) this.cancelOne(flight);
    if (this.flights.has(flight.item)) this.goOn(flight);
  }

  /** A job that has already ended needs no cancellation; one still being looked up is cancelled when found. */
  private cancelOne(flight: Flight): void {
    const { step, workflowId, runId } = flight;
    if (step.kind === 'blocked') {
      this.waits.drop(flight);
      this.end(flight, { status: 'cancelled' });
    }
    if (runId === undefined || (step.kind !== 'started' && step.kind !== 'awaited')) return;
    this.unconfirmed += 1;
    void getExternalWorkflowHandle(workflowId)
      .cancel()
      .catch(() => undefined)
      .finally(() => (this.unconfirmed -= 1));
  }

  private end(flight: Flight, outcome: JobOutcome): void {
    const { item, startedAt, workflowId, runId, step, earlier } = flight;
    if (!this.flights.delete(item)) return;
    const isOurs = step.kind !== 'blocked' && step.kind !== 'looking' && runId !== undefined;
    // An earlier run has told the price of the task that this one has fetched.
    const isPriced = earlier?.vcredits !== undefined && outcome.taskId === earlier.taskId;
    const result = {
      item,
      // Without a job, the charge of earlier ones still counts.
      ...(outcome.charge === undefined && earlier && rowOfEarlier(earlier)),
      ...(isPriced ? defined({ ...outcome, vcredits: undefined }) : outcome),
      ...(isOurs && { workflowId, runId }),
      startedAt,
      durationMs: Date.now() - startedAt,
    };
    this.on.ended(result, earlier);
  }

  private idOf(row: BatchItem, number = 1): string {
    const { source: uri, destination } = row;
    return jobIdOf({ source: { uri }, destination }, { isHidden: this.hidesNames, number });
  }

  /** Undefined when the row can't be read; the flight has ended then. */
  private async jobInput(flight: Flight, after?: string): Promise<ConversionJobInput | undefined> {
    try {
      flight.row ??= await this.rows.at(flight.byte);
    } catch (error) {
      this.end(flight, unreadable(error));
      return undefined;
    }
    const { row, earlier, number = 1 } = flight;
    const placed = { ...row, destination: numberedDestination(row.destination, number) };
    return itemJobInput(this.input, placed, { earlier, upload: this.uploads.of(flight), after });
  }
}
