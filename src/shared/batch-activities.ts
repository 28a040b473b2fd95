import type { BatchItem, BatchItemResult, BatchItemStatus, ConversionBatchResult } from './batch';
import type { ConversionJobInput } from './job';

/** What the activities of a batch take and give. Types only. */

/** A place between two lines of the manifest. */
export interface ManifestPosition {
  byte: number;
  /** The last item before it; 0 at the start. */
  item: number;
}

export interface ReadBatchItemsInput {
  folder: string;
  from: ManifestPosition;
  /** Items to run; rows that no job is to be started for are passed over and don't count. */
  limit: number;
  /** Check every row of the manifest from here on, which must be so many. */
  checkRows?: number;
}

/** A row to be run. */
export interface PlacedItem {
  item: BatchItem;
  /** Of its line, and behind it. */
  byte: number;
  next: number;
}

export interface ReadBatchItemsResult {
  items: PlacedItem[];
  next: ManifestPosition;
  isEnd: boolean;
  /** Of the whole manifest, when all rows were checked. */
  passedOver?: PassedOver;
}

/** Rows that no job is started for. */
export interface PassedOver {
  /** Done before. */
  done: number;
  /** Failed before, which stays so. */
  kept: number;
  /** Refused by the service beforehand. Absent: none. */
  refused?: number;
  /** The kept and the refused ones by code. */
  failures: Record<string, number>;
  /** Of all of them, those that may have been charged twice. */
  possiblyChargedTwice: number;
}

export interface RereadBatchItemsInput {
  folder: string;
  /** Bytes at which rows begin. */
  bytes: number[];
}

export interface RereadBatchItemsResult {
  /** The first of them, as many as fit into an answer. */
  items: BatchItem[];
}

export interface WriteBatchPartInput {
  folder: string;
  /** 1 for the first. */
  part: number;
  results: BatchItemResult[];
}

export interface MergeBatchResultsInput {
  folder: string;
  /** Part files written. */
  parts: number;
  /** Results that no part file holds yet: they become the next one. */
  rest: BatchItemResult[];
}

export interface MergeBatchResultsResult {
  /** `file:` URI of the merged results. */
  results: string;
  counts: Record<BatchItemStatus, number>;
}

export interface WriteBatchReportInput {
  folder: string;
  /** The batch's name. */
  batch: string;
  state: ConversionBatchResult;
  /** Where the report's links lead to. */
  ui?: { url: string; namespace: string };
}

export interface WriteBatchReportResult {
  /** `file:` URI of the report's page. */
  report: string;
}

/** How a job of a batch ended, without what its batch knows anyway. */
export type JobOutcome = Omit<BatchItemResult, 'item' | 'workflowId' | 'runId' | 'startedAt' | 'durationMs'>;

/** A job that this run of the batch has not started itself. */
export interface AwaitedJob {
  workflowId: string;
  /** Default: the newest. */
  runId?: string;
  /** The job is not known to be ours: it is told whether it did what this asks for. */
  expected?: ConversionJobInput;
}

export interface AwaitJobsInput {
  jobs: AwaitedJob[];
  /** Tells of all jobs at once how they stand. Default: waits until one of them has ended, and tells only of those that have. */
  looksOnce?: true;
}

/** How a job stands. */
export interface SeenJob {
  /** Its place in the input. */
  job: number;
  /** Absent: the server knows no such job. */
  runId?: string;
  /** Of an expected job: it does, or did, what was expected. */
  isSame?: boolean;
  /** Absent while it runs. */
  outcome?: JobOutcome;
  /** Milliseconds since the epoch. */
  endedAt?: number;
  /** Of an expected job that has ended: its result is where it put it. */
  isDelivered?: boolean;
  /** Of an expected job that has ended: the source is what it converted, as far as that is known. */
  isSameContent?: boolean;
}

export interface AwaitJobsResult {
  /** At least one; as many as fit into an answer. */
  seen: SeenJob[];
}

/** The activities of a batch, by their names in the history. */
export interface BatchActivities {
  'conversion.readBatchItems'(input: ReadBatchItemsInput): Promise<ReadBatchItemsResult>;
  'conversion.rereadBatchItems'(input: RereadBatchItemsInput): Promise<RereadBatchItemsResult>;
  'conversion.writeBatchPart'(input: WriteBatchPartInput): Promise<void>;
  'conversion.mergeBatchResults'(input: MergeBatchResultsInput): Promise<MergeBatchResultsResult>;
  'conversion.writeBatchReport'(input: WriteBatchReportInput): Promise<WriteBatchReportResult>;
  'conversion.awaitJobs'(input: AwaitJobsInput): Promise<AwaitJobsResult>;
}
