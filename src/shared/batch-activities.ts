import type { BatchItem, BatchItemResult, BatchItemStatus } from './batch';
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
  /** Items to run; rows that are `done` are passed over and don't count. */
  limit: number;
  /** Check every row of the manifest from here on, which must be so many. */
  checkRows?: number;
}

export interface ReadBatchItemsResult {
  /** `next`: the byte after the item's line. */
  items: { item: BatchItem; next: number }[];
  next: ManifestPosition;
  isEnd: boolean;
  /** Rows that are `done`, when all were checked. */
  done?: number;
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

/** How a job of a batch ended, without what its batch knows anyway. */
export type JobOutcome = Omit<BatchItemResult, 'item' | 'workflowId' | 'runId' | 'startedAt' | 'durationMs'>;

/** A job that this run of the batch has not started itself. */
export interface AwaitedJob {
  workflowId: string;
  /** Default: the newest. */
  runId?: string;
  /** The job is not known to be ours: its result counts only if it did what this asks for, and what it did still stands. */
  expected?: ConversionJobInput;
}

export interface AwaitJobsInput {
  jobs: AwaitedJob[];
}

export interface EndedJob {
  workflowId: string;
  runId?: string;
  /** `notStarted`: there is no such job. `notOurs`: it has ended and has not done what was expected. */
  outcome: JobOutcome | 'notStarted' | 'notOurs';
}

export interface AwaitJobsResult {
  /** At least one. */
  ended: EndedJob[];
}

/** The activities of a batch, by their names in the history. */
export interface BatchActivities {
  'conversion.readBatchItems'(input: ReadBatchItemsInput): Promise<ReadBatchItemsResult>;
  'conversion.writeBatchPart'(input: WriteBatchPartInput): Promise<void>;
  'conversion.mergeBatchResults'(input: MergeBatchResultsInput): Promise<MergeBatchResultsResult>;
  'conversion.awaitJobs'(input: AwaitJobsInput): Promise<AwaitJobsResult>;
}
