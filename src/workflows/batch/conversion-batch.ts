import {
  CancellationScope,
  allHandlersFinished,
  condition,
  makeContinueAsNewFunc,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { defaultWindow, type ConversionBatchInput, type ItemUploaded, type ItemWaits } from '../../batch/model/types';
import type { BatchItemResult, BatchState, ConversionBatchResult, ListedBatchStatus } from '../../batch/model/state';
import type { ManifestPosition, WorkerSettings } from '../../batch/model/activities';
import type { EarlierRuns } from '../../job/charge';
import { defined } from '../../job/defined';
import { isListed, searchAttributes } from '../../job/search-attributes';
import { fileSteps, unwrap } from './batch-activities';
import { describeBatch, type EndDetails } from './batch-details';
import { listenTo, type ControlledBatch } from './batch-controls';
import { ItemsInProgress } from './items-in-progress';
import { checkBatchInput } from './batch-input';
import { BatchNotices } from './batch-notices';
import { BatchReader, BatchRows } from './batch-reader';
import { BatchResults } from './batch-results';
import { BatchAttention, BatchTally, type CarriedAttention, type CarriedTally } from './batch-tally';
import type { CarriedItem } from './item-in-progress';
import { isJustReset, wishesOf } from './item-job';
import { allResults, InlineItems, InlineResults } from './inline-items';
import { LivePage, noPage, reportedRun, type CarriedPage } from './live-page';
import { planRun, type Planned } from './plan-run';
import type { CarriedUploads } from './source-uploads';

/** State handed from one run of the workflow to the next. Its size does not depend on the size of the batch. */
interface CarriedBatch extends Planned, Pick<CarriedTally, 'spending'> {
  startedAt: number;
  window: number;
  isPaused: boolean;
  attention?: CarriedAttention;
  stop?: StopReason;
  isCancelling: boolean;
  position: ManifestPosition;
  inFlight: CarriedItem[];
  uploads?: CarriedUploads;
  /** Fewer than one part file holds. */
  results: BatchItemResult[];
  parts: number;
  page?: CarriedPage;
}

/** If no job ends for this long, continue-as-new stops waiting for more to end. */
const quietMs = 500;
const maxDrainMs = 10_000;
/**
 * Half of what the server suggests, so that even a worker killed every few seconds gets through a replay. With a wide window the limit
 * is higher: a run must be able to refill every place in the window at least twice.
 */
const defaultHistoryLimit = 2_000;
const eventsOfAPlace = 8;

type StopReason = Exclude<ConversionBatchResult['status'], 'completed'>;

/**
 * Plans a batch and converts its items, a window of them at a time, each in a `conversionJob` named by its destination: see
 * docs/batches.md.
 *
 * Completes when every item has a final state, however many failed, also when cancelled by its signal or by Temporal. Fails only when
 * the batch itself can't work: an invalid input (`INVALID_BATCH`, `INVALID_JOB`), a refused plan (the code of its first problem, with
 * all problems in the details), or missing or damaged run files (`RUN_MISSING`, `RUN_DAMAGED`, `BATCH_COUNTS_DIFFER`).
 */
export async function conversionBatch(
  input: ConversionBatchInput,
  carried?: CarriedBatch | Planned,
): Promise<ConversionBatchResult> {
  checkBatchInput(input);
  const asked = wishesOf(input);
  const startedAt = Date.now();
  const planned = carried ?? (asked.plan ? await planRun(asked, asked.plan, startedAt) : {});
  if ('status' in planned) return planned;
  const batch = new ConversionBatch(asked, { startedAt, ...planned });
  CancellationScope.current().cancelRequested.catch(() => batch.cancel(true));
  return CancellationScope.nonCancellable(() => batch.run());
}

class ConversionBatch implements ControlledBatch {
  private readonly tally: BatchTally;
  private readonly reader: BatchReader | InlineItems;
  private readonly results: BatchResults | InlineResults;
  private readonly page: LivePage | undefined;
  private readonly inProgress: ItemsInProgress;
  private readonly attention: BatchAttention;
  private readonly notices: BatchNotices;
  private window: number;
  private isPaused: boolean;
  private stop: StopReason | undefined;
  private isCancelling: boolean;
  private final: ConversionBatchResult['status'] | undefined;
  private endDetails: EndDetails = {};
  private isAwake = false;
  /** Number of items that this run has started, plus those that ended in it. */
  private progress = 0;
  private listedAs: ListedBatchStatus;
  private readonly isListed = isListed(workflowInfo());

  constructor(
    private readonly input: ConversionBatchInput,
    private readonly carried: Partial<CarriedBatch> & { startedAt: number },
  ) {
    this.tally = new BatchTally(carried);
    const { reader, results, rows, page } = this.open(carried);
    this.reader = reader;
    this.results = results;
    this.page = page;
    const on = { ended: this.onItemEnded.bind(this), released: () => this.wake() };
    this.inProgress = new ItemsInProgress(input, rows, on, carried.uploads);
    this.attention = new BatchAttention(carried.attention);
    this.notices = new BatchNotices(input, carried.notifies);
    this.window = carried.window ?? input.window ?? defaultWindow;
    this.isPaused = carried.isPaused ?? false;
    this.stop = carried.stop;
    this.isCancelling = carried.isCancelling ?? false;
    this.listedAs = this.attention.listed(this.status());
  }

  private open({ run, first, position: from, results = [], parts = 0, page }: Partial<CarriedBatch>) {
    if (!run) {
      const reader = new InlineItems(this.input.items ?? [], from);
      return { reader, results: new InlineResults(results), rows: reader };
    }
    const { folder } = run;
    const written = new BatchResults(folder, results, parts, () => this.wake());
    const reported = reportedRun(folder, this.input.uiUrl);
    const pages = { run: reported, flush: () => written.flush(), onDue: () => this.wake() };
    return {
      reader: new BatchReader(folder, () => this.wake(), from, first),
      results: written,
      rows: new BatchRows(folder),
      page: new LivePage(pages, page ?? noPage(this.carried.startedAt, this.tally.ended)),
    };
  }

  /** The main loop, and the only place that acts; everything else records what happened and wakes it. */
  async run(): Promise<ConversionBatchResult> {
    // Before any handler is installed: signals that came too late for the previous run are delivered with this run's first task.
    this.inProgress.restore(this.carried.inFlight ?? []);
    listenTo(this);
    const { hidesNames, notifies } = await this.names();
    this.inProgress.hidesNames = hidesNames;
    this.notices.notifies = notifies;
    for (;;) {
      if (this.isCancelling) this.inProgress.cancel();
      if (this.tally.isSpent(this.input, this.carried.spent)) this.stop ??= 'budget';
      if (this.isStartingNoMore()) this.inProgress.giveUpWaiting(this.attention.giveUp());
      this.startJobs();
      this.describe();
      const unannounced = this.notices.announcesAttention ? this.attention.takeUnannounced() : undefined;
      if (unannounced) await this.notices.needsAttention(this.state(), unannounced);
      if (this.isOver()) return this.finish();
      this.page?.look(this.state());
      if (this.hasRunLongEnough()) await this.startNextRun();
      await condition(() => this.isAwake || this.isJustReset());
      // Not in the condition, which Temporal evaluates in the scope that a cancellation of the batch cancels.
      if (this.isJustReset()) this.inProgress.awaitAll();
      this.isAwake = false;
    }
  }

  private isJustReset(): boolean {
    return !this.inProgress.isAwaitingAll && isJustReset();
  }

  /** Known from the plan or an earlier run, except in the first run of a batch with inline items. */
  private async names(): Promise<WorkerSettings> {
    const isNew = this.input.items && !this.carried.position;
    return isNew ? fileSteps['conversion.workerSettings']({}) : this.carried;
  }

  /** Undefined if the batch can be paused and resumed. */
  whyNoPause(): string | undefined {
    const status = this.status();
    return status === 'running' || status === 'paused' ? undefined : `The batch is ${status}: it starts no more jobs.`;
  }

  state(): BatchState {
    const { items } = this;
    const { planned, run, startedAt } = this.carried;
    const inFlight = this.inProgress.count;
    return {
      status: this.status(),
      items,
      ...this.tally.totals,
      inFlight,
      waiting: items - this.tally.ended - inFlight,
      window: this.window,
      startedAt,
      ...defined({ needsAttention: this.attention.needed, planned, folder: run?.folder }),
    };
  }

  /** All items, even if none gets a job because the plan leaves nothing to do. */
  private get items(): number {
    const { run, planned } = this.carried;
    return run?.rows ?? planned?.rows ?? this.input.items?.length ?? 0;
  }

  pause(isPaused: boolean): void {
    this.isPaused = isPaused;
    this.wake();
  }

  itemWaits(word: Partial<ItemWaits> | undefined): void {
    const { workflowId = '', code = '', message = '', app, over = false } = word ?? {};
    const item = this.inProgress.itemOf(workflowId);
    if (item === undefined) return;
    if (over) this.attention.over(item);
    else this.attention.waits(item, { code, message, ...defined({ app }) });
    this.wake();
  }

  itemUploaded(word: Partial<ItemUploaded> | undefined): void {
    const { workflowId = '', upload } = word ?? {};
    const item = this.inProgress.itemOf(workflowId);
    if (item === undefined || (upload && typeof upload.connector !== 'string')) return;
    this.inProgress.uploaded(item, upload);
    this.wake();
  }

  setWindow(window: number): void {
    this.window = window;
    this.wake();
  }

  /** A later call can extend the cancellation to the jobs in flight. */
  cancel(inFlightToo: boolean): void {
    this.stop ??= 'cancelled';
    this.isCancelling ||= inFlightToo;
    this.wake();
  }

  private wake(): void {
    this.isAwake = true;
  }

  private status() {
    if (this.final) return this.final;
    if (this.stop) return 'stopping';
    return this.isPaused ? 'paused' : 'running';
  }

  private onItemEnded(result: BatchItemResult, earlier: EarlierRuns | undefined): void {
    this.progress += 1;
    const isHopeless = this.attention.isEndedBy(result);
    this.attention.over(result.item);
    this.tally.add(result, earlier);
    this.results.add(result);
    if (isHopeless || this.tally.exceeds(this.input.stopAfter)) this.stop ??= 'stopped';
    this.wake();
  }

  private startJobs(): void {
    if (this.isStartingNoMore()) return;
    if (!this.isPaused && !this.attention.needed) {
      this.progress += this.inProgress.release(this.window);
      while (this.inProgress.count < this.window && !this.results.isBehind) {
        const item = this.reader.take();
        if (!item) break;
        this.progress += 1;
        this.inProgress.start(item);
      }
    }
    // Even while no job may be started: after continue-as-new, this is how the batch learns that no rows are left.
    this.reader.prefetch();
  }

  /** Why the batch can't continue. Jobs in flight are still awaited. */
  private failure(): unknown {
    return this.reader.failure ?? this.results.failure;
  }

  private isStartingNoMore(): boolean {
    return this.stop !== undefined || this.failure() !== undefined;
  }

  private isOver(): boolean {
    return (this.isStartingNoMore() || this.reader.isExhausted) && this.inProgress.count === 0;
  }

  /** A run without progress does not continue as new: its successor would be in the same state. */
  private hasRunLongEnough(): boolean {
    if (this.progress === 0 || this.failure() !== undefined) return false;
    const { continueAsNewSuggested, historyLength, targetWorkerDeploymentVersionChanged } = workflowInfo();
    // A new run lets old workers drain sooner; its jobs, pinned to the run's version, use the new version too.
    if (continueAsNewSuggested || targetWorkerDeploymentVersionChanged) return true;
    return historyLength >= (this.input.historyLimit ?? Math.max(defaultHistoryLimit, eventsOfAPlace * this.window));
  }

  private async startNextRun(): Promise<void> {
    await this.untilQuiet();
    await this.inProgress.rest();
    await this.reader.rest();
    await this.page?.rest();
    await this.results.rest();
    await condition(allHandlersFinished);
    const { planned, run, spent, startedAt } = this.carried;
    const uploads = this.inProgress.carryUploads();
    const carried: CarriedBatch = {
      ...defined({ planned, run, hidesNames: this.inProgress.hidesNames, notifies: this.notices.notifies, spent }),
      ...defined({ attention: this.attention.carry(), stop: this.stop }),
      startedAt,
      window: this.window,
      isPaused: this.isPaused,
      isCancelling: this.isCancelling,
      position: this.reader.position,
      ...this.tally.carry(),
      inFlight: this.inProgress.carry(),
      ...(uploads.length > 0 && { uploads }),
      results: this.results.pending,
      parts: this.results.parts,
      ...(this.page && { page: this.page.carried }),
    };
    // A run stays pinned to its deployment version; the next run starts on the current one.
    const continueAsNew = makeContinueAsNewFunc<typeof conversionBatch>({ initialVersioningBehavior: 'AUTO_UPGRADE' });
    await continueAsNew(this.input, carried);
  }

  /**
   * The server rejects continue-as-new if a new event has arrived meanwhile. The whole run is then replayed, and more events arrive
   * during the replay. So short jobs may end first; long ones, which seldom end, are carried over.
   */
  private async untilQuiet(): Promise<void> {
    for (let waitedMs = 0; waitedMs < maxDrainMs && this.inProgress.count > 0; waitedMs += quietMs) {
      const { progress } = this;
      await condition(() => this.inProgress.count === 0, quietMs, { summary: 'before a new run' });
      if (this.progress === progress) return;
    }
  }

  private async finish(): Promise<ConversionBatchResult> {
    const result = await this.conclude().catch(async (failure: unknown) => {
      const error = unwrap(failure);
      await this.page?.failed(this.state(), error);
      await this.notices.failed(error);
      throw error;
    });
    await this.notices.ended(result);
    return result;
  }

  private async conclude(): Promise<ConversionBatchResult> {
    this.page?.close();
    await this.reader.rest();
    const failure = this.failure();
    if (failure !== undefined) throw failure as Error;
    await this.results.rest();
    const { items, tally } = this;
    const { planned, run } = this.carried;
    // If the budget runs out with the last row, it stops nothing. Without a run, it was spent before.
    const isWhole = this.stop === 'budget' && tally.ended === items && (run !== undefined || !planned?.todo);
    const status = isWhole ? 'completed' : (this.stop ?? 'completed');
    tally.totals.cancelled += items - tally.ended;
    const result: ConversionBatchResult = run
      ? await this.writeFiles(run.folder, this.ended(status))
      : { ...this.ended(status), ...(!planned && { itemResults: allResults(this.results.pending, items) }) };
    this.final = status;
    this.endDetails = result;
    this.describe();
    return result;
  }

  private ended(status: ConversionBatchResult['status']): ConversionBatchResult {
    return { ...this.state(), status, durationMs: Date.now() - this.carried.startedAt };
  }

  private async writeFiles(folder: string, ended: ConversionBatchResult): Promise<ConversionBatchResult> {
    const { parts, pending: rest } = this.results;
    const { uiUrl, plan } = this.input;
    // The last page must not come after the report.
    await this.page?.rest();
    const run = { ...reportedRun(folder, uiUrl), parts, rest, ...defined({ moves: plan?.moves }) };
    return { ...ended, ...(await fileSteps['conversion.endRun']({ ...run, state: ended })) };
  }

  /** Setting the details adds no event, but each upsert does: only statuses that users search for are upserted. */
  private describe(): void {
    const { workflowId, namespace } = workflowInfo();
    const { isListed, endDetails } = this;
    setCurrentDetails(describeBatch({ workflowId, namespace, isListed, ...endDetails }, this.state()));
    const listed = this.attention.listed(this.status());
    if (!isListed || listed === 'stopping' || listed === this.listedAs) return;
    this.listedAs = listed;
    upsertSearchAttributes([{ key: searchAttributes.status, value: listed }]);
  }
}
