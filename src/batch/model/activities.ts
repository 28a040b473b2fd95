import type { BatchItem, BatchPlan, ConversionBatchInput, SourceMoves } from './types';
import type { PlannedRows, BatchItemResult, BatchState, BatchTotals, ConversionBatchResult } from './state';
import type { ConversionJobInput, JobOutcome } from '../../job/types';
import type { NoticeSettings } from './notices';
import type { OnUnknownOutcome } from '../../job/policies';
import type { TemporalUi } from '../../job/temporal-ui';

/** A position between two lines of the manifest. */
export interface ManifestPosition {
  byte: number;
  /** Number of the item before it; 0 at the start. */
  item: number;
}

/** The first read of a manifest; later reads have the same limit. */
export const firstRead = { from: { byte: 0, item: 0 }, limit: 200 };

export interface ReadBatchItemsInput {
  folder: string;
  from: ManifestPosition;
  /** Maximum number of items to return, not counting rows that are passed over. */
  limit: number;
}

export interface PlacedItem {
  item: BatchItem;
  /** Byte offset of its line; `next`: that of the following line. */
  byte: number;
  next: number;
}

export interface ReadBatchItemsResult {
  items: PlacedItem[];
  next: ManifestPosition;
  isEnd: boolean;
}

export interface RereadBatchItemsInput {
  folder: string;
  /** Byte offsets of rows. */
  bytes: number[];
}

export interface RereadBatchItemsResult {
  /** The first ones, as many as fit into one activity result. */
  items: BatchItem[];
}

export interface WriteBatchPartInput {
  folder: string;
  /** 1 for the first. */
  part: number;
  results: BatchItemResult[];
}

/** A run, whose report goes into its folder. */
export interface ReportedRun {
  folder: string;
  batch: string;
  /** For links to the Temporal UI. */
  ui?: TemporalUi;
}

export interface EndRunInput extends ReportedRun {
  /** Number of part files written. */
  parts: number;
  /** Results that are in no part file yet; written as the next part. */
  rest: BatchItemResult[];
  state: ConversionBatchResult;
  moves?: SourceMoves;
}

export type EndRunResult = Pick<ConversionBatchResult, 'results' | 'unmoved' | 'report' | 'reportFailure'>;

export interface WriteRunningPageInput extends ReportedRun {
  state: RunningBatch;
}

export interface RunningBatch extends BatchState {
  /** Time of this state, in milliseconds since the epoch. */
  at: number;
  /** Items ended per second, recently. */
  perSecond?: number;
  /** Why the batch has failed: it has no report, and this is its last page. */
  failure?: string;
}

export interface WriteRunningPageResult {
  tookMs: number;
}

/** A job that this run of the batch did not start. */
export interface AwaitedJob {
  workflowId: string;
  /** Default: the latest. */
  runId?: string;
  /** Does not wait; reports whether the job runs, and whether it does what this input asks for. */
  expected?: ConversionJobInput;
}

export interface AwaitJobsInput {
  /** Waits until one has ended and returns all that have; with `expected`, looks at all of them once. */
  jobs: AwaitedJob[];
}

export interface SeenJob {
  /** Index in the input. */
  job: number;
  /** Absent: the server knows no such job. */
  runId?: string;
  /** Absent while the job runs. */
  outcome?: JobOutcome;
  /** With `expected`, instead of an outcome. */
  existing?: ExistingJob;
}

export interface ExistingJob {
  isOpen: boolean;
  isSame: boolean;
  /** The source has changed since this running job uploaded it. Absent: it has not, or nothing tells. */
  isChanged?: true;
  source: string;
  /** Id of the workflow that started it, such as a batch. Absent: no workflow did. */
  startedBy?: string;
}

export interface AwaitJobsResult {
  /** At least one, and as many as fit into one activity result. */
  seen: SeenJob[];
}

/** The activities of a batch, by their names in the history. */
export interface BatchActivities {
  'conversion.planBatch'(input: PlanBatchInput): Promise<PlanBatchResult>;
  /** For inline items, which are not planned, and for a job of somebody's own workflow. */
  'conversion.workerSettings'(input: { job?: JobPlace }): Promise<WorkerSettings & { resultUri?: string }>;
  'conversion.readBatchItems'(input: ReadBatchItemsInput): Promise<ReadBatchItemsResult>;
  'conversion.rereadBatchItems'(input: RereadBatchItemsInput): Promise<RereadBatchItemsResult>;
  'conversion.writeBatchPart'(input: WriteBatchPartInput): Promise<void>;
  'conversion.writeRunningPage'(input: WriteRunningPageInput): Promise<WriteRunningPageResult>;
  'conversion.endRun'(input: EndRunInput): Promise<EndRunResult>;
  'conversion.awaitJobs'(input: AwaitJobsInput): Promise<AwaitJobsResult>;
}

export interface PlanBatchInput {
  /** Stored beside the runs, for a retry. */
  request: ConversionBatchInput & { plan: BatchPlan };
  /** The batch's tags, kept with the request. */
  tags?: readonly string[];
  onUnknownOutcome: OnUnknownOutcome;
  again?: true;
}

export type JobPlace = Pick<ConversionJobInput, 'source' | 'output'> & { destination: string };

/** Reported by the worker, whose data converter is the same as that of the batch's starter. */
export interface WorkerSettings extends Pick<NoticeSettings, 'notifies'> {
  /** Payloads are encrypted, so the ids of jobs hold no names. Absent: they are not. */
  hidesNames?: true;
}

export interface PlanBatchResult extends WorkerSettings {
  /** The new run; absent when there is nothing to do. */
  run?: PlannedRun;
  /** The first items of the run, which saves a small batch an activity. */
  first?: ReadBatchItemsResult;
  planned: PlannedRows;
  /** Counts the rows for which no job is started. */
  totals: BatchTotals;
  /** vCredits that earlier runs were charged; only for a batch with `maxVcredits`. */
  spent?: number;
}

export interface PlannedRun {
  folder: string;
  rows: number;
}
