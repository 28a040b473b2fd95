import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ChildWorkflowFailure,
  ParentClosePolicy,
  WorkflowIdReusePolicy,
  condition,
  getExternalWorkflowHandle,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { BatchItem, ConversionBatchInput } from '../../batch/model/types';
import type { PlacedItem, SeenJob, ExistingJob } from '../../batch/model/activities';
import { defined } from '../../job/defined';
import { type ConversionJobInput, type JobOutcome, jobSummary, type SharedUpload } from '../../job/types';
import { jobIdOf, numberedDestination } from '../../job/job-id';
import { outcomeOfFailure, outcomeOfResult, rowOfEarlier } from '../../job/job-outcome';
import { conversionJobType, inBatchMemo, wakeSignal } from '../../job/names';
import { isListed, searchAttributes, startingAttributes, storable } from '../../job/search-attributes';
import { jobDetails } from '../../job/temporal-ui';
import type { conversionJob } from '../job/conversion-job';
import { BatchWaits } from './batch-waits';
import {
  carriedItem,
  type CarriedItem,
  type ItemInProgress,
  type ItemEvents,
  type ItemRows,
  type ItemStep,
} from './item-in-progress';
import { itemJobInput, itemJobPriority, type LastRun, takenBy, unreadable } from './item-job';
import { SourceUploads, type CarriedUploads } from './source-uploads';

type StartingStep = Extract<ItemStep, { kind: 'starting' }>;

/**
 * The items of a batch in flight. Jobs started by this run report through child workflow completion; one activity waits for jobs of
 * earlier runs. Starts are not awaited one by one, which would halve the throughput.
 *
 * Rows with the same source share one upload, made by the job of the first row. If a row's job already exists, a new one starts only
 * when the state left by the old one requires it: see docs/repetition.md.
 */
export class ItemsInProgress {
  private readonly entries = new Map<number, ItemInProgress>();
  private readonly waits = new BatchWaits<ItemInProgress>(
    (entry, seen) => this.seen(entry, seen),
    (entry, error) => this.end(entry, { ...unreadable(error), charge: 'maybe' }),
  );
  /** See `WorkerSettings`. */
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
    private readonly rows: ItemRows,
    private readonly on: ItemEvents,
    uploads: CarriedUploads | undefined,
  ) {
    this.uploads = new SourceUploads(uploads);
  }

  get count(): number {
    return this.entries.size;
  }

  /** A row that waits for an upload has no job yet: the word is one of before a reset or of an earlier run, and may be the job's last. */
  itemOf(id: string): number | undefined {
    return [...this.entries.values()].find((one) => one.workflowId === id && one.step.kind !== 'awaitsUpload')?.item;
  }

  carry(): CarriedItem[] {
    return [...this.entries.values()].map(carriedItem);
  }

  carryUploads(): CarriedUploads {
    return this.uploads.carry();
  }

  restore(entries: readonly CarriedItem[]): void {
    for (const entry of entries) {
      this.entries.set(entry.item, entry);
      this.advance(entry);
    }
  }

  /**
   * After a reset of the batch, Temporal does not repeat the completions of jobs that ended in between. From here on, the jobs of this
   * run are awaited like those of other runs.
   */
  awaitAll(): void {
    this.isAwaitingAll = true;
    const entries = [...this.entries.values()];
    for (const entry of entries) if (entry.step.kind === 'started') this.advance(entry);
    void this.wakeUnconfirmed(entries);
  }

  /**
   * If the Temporal server dies while it starts a job of a batch that was reset, it never confirms the start, and the job gets no
   * workflow task. A signal gives it one; the start is then confirmed when the job ends.
   */
  private async wakeUnconfirmed(entries: readonly ItemInProgress[]): Promise<void> {
    const unconfirmed = () => entries.filter(({ item, step }) => step.kind === 'starting' && this.entries.has(item));
    while (unconfirmed().length > 0) {
      await sleep('1 minute', { summary: 'for Temporal to confirm starts' });
      for (const { workflowId } of unconfirmed()) {
        void getExternalWorkflowHandle(workflowId)
          .signal(wakeSignal)
          .catch(() => undefined);
      }
    }
  }

  start({ item: row, byte }: PlacedItem): void {
    const entry: ItemInProgress = {
      item: row.item,
      byte,
      workflowId: this.idOf(row),
      startedAt: Date.now(),
      step: { kind: 'starting' },
      ...(row.earlier && { earlier: row.earlier }),
      ...(row.sourceGroup !== undefined && { sourceGroup: row.sourceGroup }),
      row,
    };
    this.entries.set(entry.item, entry);
    if (this.isUploadExpected(entry)) entry.step = { kind: 'awaitsUpload' };
    else {
      this.expectUpload(entry);
      this.advance(entry);
    }
  }

  /** Cancels every job in flight, including those whose start is not confirmed yet. */
  cancel(): void {
    if (this.isCancelling) return;
    this.isCancelling = true;
    for (const entry of this.entries.values()) this.cancelOne(entry);
  }

  /** Starts items whose source has been uploaded, as far as the window has room; returns how many. */
  release(window: number): number {
    const waiting = this.waiting();
    let room = Math.max(window - (this.count - waiting.length), 0);
    let released = 0;
    for (const entry of waiting) {
      if (room === 0) break;
      if (this.isUploadExpected(entry)) continue;
      this.startAfter(entry, undefined);
      room -= 1;
      released += 1;
    }
    return released;
  }

  /** For a batch that starts no more jobs: ends items that wait for an upload, and cancels the `parked` ones. */
  giveUpWaiting(parked: readonly number[]): void {
    for (const entry of this.waiting()) this.end(entry, { status: 'cancelled' });
    for (const item of parked) {
      const entry = this.entries.get(item);
      if (entry && !this.isCancelling) this.cancelOne(entry);
    }
  }

  /** `upload` is undefined if the job fetches an earlier task and so uploads nothing. */
  uploaded(item: number, upload: SharedUpload | undefined): void {
    const entry = this.entries.get(item);
    if (entry?.sourceGroup === undefined) return;
    delete entry.isUploading;
    if (upload) this.uploads.keep(entry.sourceGroup, upload);
  }

  /** Called just before the entry's job starts. */
  private expectUpload(entry: ItemInProgress): void {
    if (entry.earlier?.taskId !== undefined) this.expectNoUpload(entry);
    else if (entry.sourceGroup !== undefined) entry.isUploading = true;
  }

  private expectNoUpload(entry: ItemInProgress): void {
    if (entry.isUploading) this.on.released();
    delete entry.isUploading;
  }

  private isUploadExpected(entry: ItemInProgress): boolean {
    return this.uploads.isExpected(entry, this.entries.values());
  }

  private waiting(): ItemInProgress[] {
    return [...this.entries.values()].filter(({ step }) => step.kind === 'awaitsUpload');
  }

  /** Resolves when the batch may continue as new: a child whose start is not confirmed by then would never start. */
  async rest(): Promise<void> {
    await this.waits.rest();
    await condition(() => this.unconfirmed === 0);
  }

  private advance(entry: ItemInProgress, step: ItemStep = entry.step): void {
    entry.step = step;
    const { workflowId, runId } = entry;
    const job = { workflowId, ...(runId !== undefined && { runId }) };
    switch (step.kind) {
      case 'starting':
        void this.launch(entry, step);
        return;
      case 'looking':
        void this.lookAt(entry);
        return;
      case 'blocked':
      case 'awaited':
      case 'started':
        this.waits.add(entry, job);
        return;
      case 'awaitsUpload':
    }
  }

  private async lookAt(entry: ItemInProgress): Promise<void> {
    const expected = await this.jobInput(entry);
    if (expected) this.waits.add(entry, { workflowId: entry.workflowId, expected });
  }

  private async launch(entry: ItemInProgress, starting: StartingStep): Promise<void> {
    this.unconfirmed += 1;
    const child = await this.startJob(entry, starting);
    this.unconfirmed -= 1;
    if (!child) return;
    entry.runId = child.firstExecutionRunId;
    entry.step = { kind: 'started' };
    if (this.isAwaitingAll) this.advance(entry);
    if (this.isCancelling) this.cancelOne(entry);
    try {
      this.end(entry, outcomeOfResult(await child.result()));
    } catch (error) {
      const jobOutcome = outcomeOfFailure(error instanceof ChildWorkflowFailure ? error.cause : error);
      if (jobOutcome.charge !== undefined) this.end(entry, jobOutcome);
      // The job ended without reporting its charge, so read it from its history.
      else this.advance(entry, { kind: 'awaited' });
    }
  }

  /** Undefined when no job was started: the item has ended, or has moved to another step. */
  private async startJob(entry: ItemInProgress, { after, needsLookup }: StartingStep) {
    const input = await this.jobInput(entry, after === undefined ? undefined : defined({ runId: after, needsLookup }));
    if (this.isCancelling && input) this.end(entry, { status: 'cancelled' });
    if (this.isCancelling || !input) return undefined;
    const attributes = storable(startingAttributes(input, { batchId: this.batchId, tags: this.tags }));
    try {
      return await startChild<typeof conversionJob>(conversionJobType, {
        workflowId: entry.workflowId,
        args: [input],
        workflowIdReusePolicy:
          after === undefined ? WorkflowIdReusePolicy.REJECT_DUPLICATE : WorkflowIdReusePolicy.ALLOW_DUPLICATE,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        priority: itemJobPriority(),
        staticSummary: jobSummary(input),
        staticDetails: jobDetails(input),
        ...(this.isListed && { typedSearchAttributes: attributes }),
        memo: { [inBatchMemo]: true },
      });
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) this.advance(entry, { kind: 'looking' });
      else this.end(entry, outcomeOfFailure(error));
      return undefined;
    }
  }

  private seen(entry: ItemInProgress, { runId, outcome, existing }: SeenJob): void {
    const { step } = entry;
    if (!this.entries.has(entry.item)) return;
    switch (step.kind) {
      case 'started':
      case 'awaited':
        // A job that was reset has ended in another run.
        if (runId !== undefined) entry.runId = runId;
        if (outcome) this.end(entry, outcome);
        // Temporal no longer knows the job: start another, which finds the history gone and decides by that.
        else this.startAfter(entry, entry.runId);
        return;
      case 'blocked':
        this.startAfter(entry, runId);
        return;
      case 'looking':
        if (existing?.isOpen && runId !== undefined) void this.foundOpen(entry, { ...existing, runId });
        else if (outcome) this.end(entry, outcome);
        else this.startAfter(entry, runId, this.needsLookup(existing));
        return;
      case 'starting':
      case 'awaitsUpload':
    }
  }

  /** The job belongs to a run that never finished, since the ledger lacks this result, or to what this run did before a reset. */
  private needsLookup(existing: ExistingJob | undefined): boolean {
    const isTakenUp = this.rows.isRepeated || this.isAwaitingAll;
    return isTakenUp && existing?.isSame === true && existing.startedBy === this.batchId;
  }

  /** The id belongs to a running job, of this batch or of someone else. */
  private async foundOpen(
    entry: ItemInProgress,
    { runId, isSame, isChanged, source, startedBy }: ExistingJob & { runId: string },
  ): Promise<void> {
    // The next job converts the new version and replaces the result of this one.
    if (isSame && isChanged) {
      this.waitFor(entry, runId, 'blocked');
      return;
    }
    if (isSame) {
      if (startedBy !== this.batchId) entry.isOfOthers = true;
      this.waitFor(entry, runId, 'awaited');
      return;
    }
    const { onExisting } = (await this.jobInput(entry)) ?? {};
    if (onExisting === 'overwrite') this.waitFor(entry, runId, 'blocked');
    else if (onExisting === 'rename' && entry.row) {
      entry.number = (entry.number ?? 1) + 1;
      entry.workflowId = this.idOf(entry.row, entry.number);
      this.startAfter(entry, undefined);
    } else this.end(entry, takenBy(entry.workflowId, source));
  }

  private startAfter(entry: ItemInProgress, after: string | undefined, needsLookup = false): void {
    delete entry.runId;
    delete entry.isOfOthers;
    if (this.isCancelling) {
      this.end(entry, { status: 'cancelled' });
      return;
    }
    this.expectUpload(entry);
    this.advance(entry, { kind: 'starting', ...defined({ after, needsLookup: needsLookup || undefined }) });
  }

  private waitFor(entry: ItemInProgress, runId: string, kind: 'blocked' | 'awaited'): void {
    entry.runId = runId;
    entry.step = { kind };
    this.expectNoUpload(entry);
    if (this.isCancelling) this.cancelOne(entry);
    if (this.entries.has(entry.item)) this.advance(entry);
  }

  /** A job that has already ended needs no cancellation; one still being looked up is cancelled when found. */
  private cancelOne(entry: ItemInProgress): void {
    const { step, workflowId, runId } = entry;
    if (step.kind === 'blocked') {
      this.waits.drop(entry);
      this.end(entry, { status: 'cancelled' });
    }
    if (runId === undefined || (step.kind !== 'started' && step.kind !== 'awaited')) return;
    this.unconfirmed += 1;
    void getExternalWorkflowHandle(workflowId)
      .cancel()
      .catch(() => undefined)
      .finally(() => (this.unconfirmed -= 1));
  }

  private end(entry: ItemInProgress, outcome: JobOutcome): void {
    const { item, startedAt, workflowId, runId, step, earlier } = entry;
    if (!this.entries.delete(item)) return;
    const isOurs = step.kind !== 'blocked' && step.kind !== 'looking' && runId !== undefined;
    // The price of a fetched task was already reported by the run that submitted it.
    const isPriced = earlier?.vcredits !== undefined && outcome.taskId === earlier.taskId;
    const isCounted = isPriced || entry.isOfOthers;
    const result = {
      item,
      // The row of an item without a job still carries the charge of earlier ones.
      ...(outcome.charge === undefined && earlier && rowOfEarlier(earlier)),
      ...(isCounted ? defined({ ...outcome, vcredits: undefined }) : outcome),
      ...(entry.isOfOthers && { requests: 0 }),
      ...(isOurs && { workflowId, runId }),
      startedAt,
      durationMs: Date.now() - startedAt,
    };
    this.on.ended(result, earlier);
  }

  private idOf({ destination }: BatchItem, number = 1): string {
    return jobIdOf(destination, { isHidden: this.hidesNames, number });
  }

  /** Undefined if the row can't be read; the item has then ended with that error. */
  private async jobInput(entry: ItemInProgress, recall?: LastRun): Promise<ConversionJobInput | undefined> {
    try {
      entry.row ??= await this.rows.at(entry.byte);
    } catch (error) {
      this.end(entry, unreadable(error));
      return undefined;
    }
    const { row, earlier, number = 1 } = entry;
    const placed = { ...row, destination: numberedDestination(row.destination, number) };
    return itemJobInput(this.input, placed, { earlier, upload: this.uploads.of(entry), recall });
  }
}
