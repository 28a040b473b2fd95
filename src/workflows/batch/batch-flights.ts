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
import type { ConversionBatchInput } from '../../shared/batch';
import type { JobOutcome, PlacedItem, SeenJob } from '../../shared/batch-activities';
import { jobSummary, type ConversionJobInput, type SharedUpload } from '../../shared/job';
import { outcomeOfFailure, outcomeOfResult, rowOfEarlier } from '../../shared/job-outcome';
import { conversionJobType, inBatchMemo } from '../../shared/names';
import { defaultPolicies } from '../../shared/policies';
import {
  listingOptions,
  runBeforeMemo,
  searchAttributes,
  settableAttributes,
  startingAttributes,
} from '../../shared/search-attributes';
import { jobDetails } from '../../shared/temporal-ui';
import type { conversionJob } from '../job/conversion-job';
import { BatchLooks, BatchWaits } from './batch-waits';
import {
  carriedFlight,
  earlierOfNextJob,
  type CarriedFlight,
  type Flight,
  type FlightEvents,
  type FlightRows,
  type FlightStep,
  type Repeating,
} from './flight';
import { itemJobInput, itemJobPriority, lostJob, unreadable } from './item-job';
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
  private readonly looks = new BatchLooks<Flight>(
    (flight, seen) => this.seen(flight, seen),
    (flight, error) => this.end(flight, { ...unreadable(error), charge: 'maybe' }),
  );
  private readonly waits = new BatchWaits<Flight>(
    (flight, seen) => this.seen(flight, seen),
    (flight, error) => this.end(flight, { ...unreadable(error), charge: 'maybe' }),
  );
  private readonly uploads: SourceUploads;
  private readonly rules;
  /** Starts and cancellations that Temporal has not confirmed yet. */
  private unconfirmed = 0;
  private isCancelling = false;
  private readonly batchId = workflowInfo().workflowId;
  private readonly settable = settableAttributes(workflowInfo());
  private readonly tags = workflowInfo().typedSearchAttributes.get(searchAttributes.tags);

  constructor(
    private readonly input: ConversionBatchInput,
    private readonly rows: FlightRows,
    private readonly on: FlightEvents,
    uploads: CarriedUploads | undefined,
  ) {
    this.uploads = new SourceUploads(uploads);
    const { onUnknownOutcome: asked = defaultPolicies.onUnknownOutcome } = input.policies ?? {};
    const onUnknownOutcome = input.paysOnce ? 'fail' : asked;
    this.rules = { onUnknownOutcome, resubmit: input.resubmit === true };
  }

  get count(): number {
    return this.flights.size;
  }

  itemOf(workflowId: string): number | undefined {
    const isOf = (flight: Flight) => flight.job?.workflowId === workflowId || this.idOf(flight) === workflowId;
    return [...this.flights.values()].find(isOf)?.item;
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

  start({ item: row, byte }: PlacedItem): void {
    const others = (row.startedAs ?? []).filter((number) => number !== row.item);
    const flight: Flight = {
      item: row.item,
      byte,
      startedAt: Date.now(),
      step: { kind: 'starting' },
      ...(row.earlier && { earlier: row.earlier }),
      ...(row.sourceGroup !== undefined && { sourceGroup: row.sourceGroup }),
      row,
    };
    this.flights.set(flight.item, flight);
    if (others.length === 0 && this.isUploadExpected(flight)) flight.step = { kind: 'held' };
    else this.lookFurther(flight, others);
  }

  /** Cancels every job in flight, including those whose start is not confirmed yet. */
  cancel(): void {
    if (this.isCancelling) return;
    this.isCancelling = true;
    for (const flight of this.flights.values()) this.cancelOne(flight);
  }

  /** Starts held items again, each in a new job, as far as the window has room; returns how many. */
  release(window: number): number {
    const held = this.held();
    let room = Math.max(window - (this.count - held.length), 0);
    let released = 0;
    for (const flight of held) {
      if (room === 0) break;
      if (this.isUploadExpected(flight)) continue;
      const { workflowId, runId } = this.jobOf(flight);
      this.startAfter(flight, workflowId === this.idOf(flight) ? runId : undefined);
      room -= 1;
      released += 1;
    }
    return released;
  }

  /** The service takes the account again. */
  appReady(): void {
    for (const flight of this.flights.values()) {
      const { kind } = flight.step;
      if (kind !== 'held' && kind !== 'blocked') flight.isReadySince = true;
    }
  }

  /** For a batch that starts no more jobs. */
  giveUpHeld(): void {
    for (const flight of this.held()) {
      this.end(flight, { status: 'cancelled', ...(flight.job && !flight.earlier && { charge: 'no' }) });
    }
  }

  uploaded(item: number, upload: SharedUpload): void {
    const { sourceGroup } = this.flights.get(item) ?? {};
    if (sourceGroup !== undefined) this.uploads.keep(sourceGroup, upload);
  }

  private isUploadExpected(flight: Flight): boolean {
    return this.uploads.isExpected(flight, this.flights.values());
  }

  private held(): Flight[] {
    return [...this.flights.values()].filter(({ step }) => step.kind === 'held');
  }

  /** Resolves when the batch can continue as new: a child whose start is not confirmed by then would never start. */
  async rest(): Promise<void> {
    await Promise.all([this.looks.rest(), this.waits.rest()]);
    await condition(() => this.unconfirmed === 0);
  }

  private goOn(flight: Flight, step: FlightStep = flight.step): void {
    flight.step = step;
    switch (step.kind) {
      case 'starting':
        void this.launch(flight, step.after);
        return;
      case 'looking':
        void this.lookAt(flight);
        return;
      case 'untold':
        this.looks.ask(flight, this.jobOf(flight));
        return;
      case 'blocked':
      case 'awaited':
      case 'started':
        this.waits.add(flight, this.jobOf(flight));
        return;
      case 'held':
    }
  }

  /** Looks for the row's job under the ids of these items; starts a new job when there is none. */
  private lookFurther(flight: Flight, [item, ...others]: readonly number[]): void {
    delete flight.job;
    if (item === undefined) {
      this.goOn(flight, { kind: 'starting' });
      return;
    }
    flight.job = { workflowId: item === flight.item ? this.idOf(flight) : `${this.batchId}/${item}` };
    this.goOn(flight, { kind: 'looking', others });
  }

  private async lookAt(flight: Flight): Promise<void> {
    const expected = await this.jobInput(flight);
    if (expected) this.looks.ask(flight, { ...this.jobOf(flight), expected });
  }

  /** `after`: the last run under this id, closed; it was a different job, or the row has to be converted again. */
  private async launch(flight: Flight, after: string | undefined): Promise<void> {
    this.unconfirmed += 1;
    const child = await this.startJob(flight, after).finally(() => (this.unconfirmed -= 1));
    if (!child) return;
    flight.job = { workflowId: child.workflowId, runId: child.firstExecutionRunId };
    flight.step = { kind: 'started' };
    if (this.isCancelling) this.cancelOne(flight);
    try {
      this.end(flight, outcomeOfResult(await child.result()));
    } catch (error) {
      const told = outcomeOfFailure(error instanceof ChildWorkflowFailure ? error.cause : error);
      if (told.charge !== undefined) this.endUnlessHeld(flight, told);
      else this.goOn(flight, { kind: 'untold', told });
    }
  }

  /** Undefined when no job was started: the flight has ended, or has moved to another step. */
  private async startJob(flight: Flight, after: string | undefined) {
    const input = await this.jobInput(flight);
    if (!input) return undefined;
    if (this.isCancelling) {
      this.end(flight, { status: 'cancelled' });
      return undefined;
    }
    const listing = listingOptions(
      startingAttributes(input, { batchId: this.batchId, tags: this.tags }),
      this.settable,
    );
    const isNew = after === undefined;
    try {
      return await startChild<typeof conversionJob>(conversionJobType, {
        workflowId: this.idOf(flight),
        args: [input],
        workflowIdReusePolicy: isNew ? WorkflowIdReusePolicy.REJECT_DUPLICATE : WorkflowIdReusePolicy.ALLOW_DUPLICATE,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        priority: itemJobPriority(),
        staticSummary: jobSummary(input),
        staticDetails: jobDetails(input),
        ...listing,
        memo: { ...listing.memo, [inBatchMemo]: true, ...(!isNew && { [runBeforeMemo]: after }) },
      });
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) this.lookFurther(flight, [flight.item]);
      else this.end(flight, outcomeOfFailure(error));
      return undefined;
    }
  }

  private seen(flight: Flight, seen: SeenJob): void {
    const { step } = flight;
    switch (step.kind) {
      case 'untold':
        // Without a history nothing proves that no conversion ran.
        this.endUnlessHeld(flight, seen.outcome ?? { ...step.told, charge: 'maybe' });
        return;
      case 'started':
      case 'awaited':
        if (seen.outcome) this.endUnlessHeld(flight, seen.outcome);
        else this.repeat(flight, lostJob);
        return;
      case 'blocked':
        this.startAfter(flight, seen.runId);
        return;
      case 'looking':
        this.found(flight, step.others, seen);
        return;
      case 'starting':
      case 'held':
    }
  }

  private found(flight: Flight, others: readonly number[], seen: SeenJob): void {
    const { runId, isSame, outcome } = seen;
    const isOwnId = flight.job?.workflowId === this.idOf(flight);
    if (runId === undefined || !isSame) {
      if (!isOwnId) this.lookFurther(flight, others);
      else if (runId === undefined || outcome) this.startAfter(flight, runId);
      else this.waitFor(flight, runId, 'blocked');
    } else if (!outcome) this.waitFor(flight, runId, 'awaited');
    else this.foundEnded(flight, { ...seen, runId, outcome });
  }

  private foundEnded(flight: Flight, seen: SeenJob & { runId: string; outcome: JobOutcome }): void {
    const { runId, outcome, endedAt = 0, isDelivered = false, isSameContent = true } = seen;
    const isOwnId = flight.job?.workflowId === this.idOf(flight);
    if (flight.job) flight.job.runId = runId;
    // It was still running when the batch reached this row, or it has already delivered the result.
    if (endedAt >= flight.startedAt || (isDelivered && isSameContent)) this.endUnlessHeld(flight, outcome);
    else this.repeat(flight, outcome, { endedAt, isSameContent, after: isOwnId ? runId : undefined });
  }

  /** Starts the row's next job, or ends the flight, depending on what the ended job left behind. */
  private repeat(
    flight: Flight,
    outcome: JobOutcome,
    { endedAt = 0, isSameContent = true, after = flight.job?.runId }: Repeating = {},
  ): void {
    if (this.isCancelling) {
      this.end(flight, { ...outcome, status: 'cancelled' });
      return;
    }
    const next = earlierOfNextJob(flight, outcome, { endedAt, isSameContent, rules: this.rules });
    if (next === 'keep') {
      this.end(flight, { ...outcome, status: 'failed', kept: true });
      return;
    }
    if (next) Object.assign(flight, { earlier: next, foundAt: endedAt });
    this.startAfter(flight, after);
  }

  private startAfter(flight: Flight, after: string | undefined): void {
    delete flight.job;
    delete flight.isReadySince;
    this.goOn(flight, { kind: 'starting', ...(after !== undefined && { after }) });
  }

  private waitFor(flight: Flight, runId: string, kind: 'blocked' | 'awaited'): void {
    if (flight.job) flight.job.runId = runId;
    flight.step = { kind };
    if (this.isCancelling) this.cancelOne(flight);
    if (this.flights.has(flight.item)) this.goOn(flight);
  }

  /** A job that has already ended needs no cancellation; one still being looked up is cancelled when found. */
  private cancelOne(flight: Flight): void {
    const { step, job } = flight;
    if (step.kind === 'blocked') {
      this.waits.drop(flight);
      this.end(flight, { status: 'cancelled' });
    }
    if (!job || (step.kind !== 'started' && step.kind !== 'awaited')) return;
    this.unconfirmed += 1;
    void getExternalWorkflowHandle(job.workflowId)
      .cancel()
      .catch(() => undefined)
      .finally(() => (this.unconfirmed -= 1));
  }

  /** An item is not blamed for a refusal that every other item would meet. */
  private endUnlessHeld(flight: Flight, { refusesAccount, ...outcome }: JobOutcome): void {
    const next =
      refusesAccount === true && !this.isCancelling
        ? earlierOfNextJob(flight, outcome, { endedAt: Date.now(), isSameContent: true, rules: this.rules })
        : 'keep';
    if (next === 'keep') {
      this.end(flight, outcome);
      return;
    }
    const { code = '', message = '', requests = 0 } = outcome;
    flight.requests = (flight.requests ?? 0) + requests;
    if (next) flight.earlier = next;
    flight.step = { kind: 'held' };
    this.on.held(flight.item, flight.isReadySince ? undefined : { code, message });
    if (flight.isReadySince) delete flight.isReadySince;
    // A job of later says that the account is refused again.
    else for (const other of this.flights.values()) delete other.isReadySince;
  }

  private end(flight: Flight, outcome: JobOutcome): void {
    const { item, startedAt, job, step, earlier, requests } = flight;
    if (!this.flights.delete(item)) return;
    const isOurs = step.kind !== 'blocked' && job?.runId !== undefined;
    this.on.ended({
      item,
      // However this job ended, the charge of earlier jobs still counts.
      ...(outcome.charge === undefined && earlier && rowOfEarlier(earlier)),
      ...outcome,
      ...(requests !== undefined && { requests: requests + (outcome.requests ?? 0) }),
      ...(earlier?.possiblyChargedTwice && { possiblyChargedTwice: true }),
      ...(isOurs && job),
      startedAt,
      durationMs: Date.now() - startedAt,
    });
  }

  private idOf(flight: Flight): string {
    return `${this.batchId}/${this.rows.jobName(flight)}`;
  }

  private jobOf(flight: Flight): { workflowId: string; runId?: string } {
    return flight.job ?? { workflowId: this.idOf(flight) };
  }

  /** Undefined when the row can't be read; the flight has ended then. */
  private async jobInput(flight: Flight): Promise<ConversionJobInput | undefined> {
    try {
      flight.row ??= await this.rows.at(flight.byte);
    } catch (error) {
      this.end(flight, unreadable(error));
      return undefined;
    }
    const { row, earlier } = flight;
    return itemJobInput(this.input, row, { earlier, upload: this.uploads.of(flight) });
  }
}
