import type { Charge, EarlierRuns } from './charge';
import type { ConversionMode, ConversionPolicies, JobPhase, OnExisting, OutputFile, SourceContent } from './job';

/**
 * One row of a checked manifest: `manifest.jsonl` in the folder of a batch's run holds one a line, by rising `item`. Every row has been
 * checked before: no two have one destination, and none leaves the folder that it was given.
 */
export interface BatchItem {
  /** Row number from 1; the item's workflow is `<batch>/<item>`. */
  item: number;
  /** A `file:` URI that the worker can read. */
  source: string;
  /** Target format. */
  output: string;
  /** Input format; absent: by the source's extension. */
  input?: string;
  /** `file:` URI of the result. */
  destination: string;
  /** In place of the batch's own: `overwrite` where an earlier run of this batch wrote the destination. */
  onExisting?: OnExisting;
  /** What earlier runs of this batch left behind at the service for this item. */
  earlier?: EarlierRuns;
  /** An earlier run may have been charged for it, and policy `onUnknownOutcome: fail` sends nothing again: it stays failed as it was. */
  kept?: KeptOutcome;
  /** The service has said beforehand that it does not convert this: nothing is sent, and it fails so. */
  refused?: Refusal;
  /** Items that this row was in earlier runs, the latest first: their jobs are looked at before another one is started. */
  startedAs?: number[];
  /** An earlier run converted the same content with the same options and its result is still there: skipped. */
  done?: DoneBefore;
}

/** Of an item that no job is started for: how the job of an earlier run ended. */
export type KeptOutcome = Omit<BatchItemResult, 'item' | 'status' | 'kept'> & { status: 'failed' };

/** Why the service would refuse a file, in the words that a job would fail with. */
export interface Refusal {
  /** The document's error code. */
  code: string;
  message: string;
}

/** What an earlier run converted, and what became of it. */
export interface DoneBefore {
  source: SourceContent;
  output: OutputFile;
  /** Of the conversion. */
  taskId?: string;
  /** As that run's result told; it stays for as long as the result does. */
  possiblyChargedTwice?: true;
  /** The service's, of that conversion. */
  warnings?: Record<string, string>;
}

/** Input of the workflow `conversionBatch`, whose workflow id is the batch's name. Small, however large the batch is. */
export interface ConversionBatchInput {
  /** Name of the app profile in the worker's configuration. */
  app: string;
  /** `file:` URI, ending with a slash, of the folder of this run: holds `manifest.jsonl`, and takes the results. */
  folder: string;
  /** Rows of the manifest. */
  items: number;
  /** Jobs in flight at a time, 1 to 500. Default: 50. */
  window?: number;
  /** Default: `fail`. */
  onExisting?: OnExisting;
  /** Of every job. Default: `async`. */
  mode?: ConversionMode;
  /** Of every job. */
  policies?: ConversionPolicies;
  /**
   * Starts no more jobs after this many failures, or this share of the items that succeeded or failed, in percent, which is looked at once there
   * are 20 of them. Default: never.
   */
  stopAfter?: { failures?: number; percent?: number };
  /** Base URL of the Temporal UI, for the links of the report. Default: no links. */
  uiUrl?: string;
  /** Converts also what an earlier run may have been charged for and has not delivered; marked. Default: no. */
  resubmit?: true;
  /** Events after which the batch goes on as a new run. Default: when the server suggests it. */
  historyLimit?: number;
}

/** Every item ends in exactly one of these. */
export type BatchItemStatus = 'succeeded' | 'failed' | 'skipped' | 'cancelled';

/** How one item ended: a line of the part files, and of the `results.jsonl` that they are merged to. */
export interface BatchItemResult {
  item: number;
  status: BatchItemStatus;
  /** Absent when no job was started. */
  workflowId?: string;
  runId?: string;
  /** Of a failure: the document's error code, or one of ours. */
  code?: string;
  message?: string;
  /** Where a job that failed or was cancelled stood. */
  phase?: JobPhase;
  /** The conversion task that the service accepted. */
  taskId?: string;
  /** Absent when no job was started, in this run or an earlier one; `no` of what the service had refused beforehand. */
  charge?: Charge;
  /** The service's warnings: name, and how to resolve it. */
  warnings?: Record<string, string>;
  /** What was converted, or uploaded. */
  source?: SourceContent;
  output?: OutputFile;
  vcredits?: number;
  requests?: number;
  possiblyChargedTwice?: boolean;
  /** Nothing was sent again, since an earlier job may have been charged: it stays failed as that one was. */
  kept?: true;
  /** Milliseconds since the epoch. */
  startedAt?: number;
  durationMs?: number;
}

/** How many items stand where. `succeeded + failed + skipped + cancelled + inFlight + waiting` is always `items`. */
export interface BatchCounts {
  items: number;
  succeeded: number;
  failed: number;
  skipped: number;
  cancelled: number;
  inFlight: number;
  waiting: number;
}

export type BatchStatus = 'running' | 'paused' | 'stopping' | 'completed' | 'cancelled' | 'stopped';

/** Why a batch that nobody has paused starts no more jobs: some of those in flight wait for a person. It goes on by itself when none does. */
export interface NeedsAttention {
  /** For example `DESTINATION_FULL`. */
  code: string;
  /** What to do. */
  message: string;
  /** So many jobs wait. */
  jobs: number;
}

/** Argument of the signal `conversionItemWaits`. */
export interface ItemWaits {
  /** Of the job. */
  workflowId: string;
  code: string;
  message: string;
  /** It waits no longer. A job that has ended need not say so. */
  over: boolean;
}

/** Answer of the query `batchState`. */
export interface BatchState extends BatchCounts {
  status: BatchStatus;
  window: number;
  /** Absent: nothing is in the way. */
  needsAttention?: NeedsAttention;
  /** Milliseconds since the epoch. */
  startedAt: number;
  vcredits: number;
  requests: number;
  /** Items of which more than one conversion may have been charged, in this run or earlier ones. */
  possiblyChargedTwice: number;
  /** Of the failed: items that an earlier run may have been charged for, so that nothing was sent again. */
  kept: number;
  /** Of the failed: items that the service had refused beforehand, so that nothing was sent. Absent: none. */
  refused?: number;
  /** Failures by error code, of 20 codes at most; the rest under `other`. */
  failures: Record<string, number>;
}

/** Result of the workflow `conversionBatch`. A batch with failed items is a result, not a failure. */
export interface ConversionBatchResult extends BatchState {
  /** `cancelled`: by a person; `stopped`: by `stopAfter`. */
  status: 'completed' | 'cancelled' | 'stopped';
  /** `file:` URI of `results.jsonl`: one `BatchItemResult` a line for every row of the manifest, in its order. */
  results: string;
  durationMs: number;
  /** `file:` URI of the report's page; absent when it could not be written. */
  report?: string;
  /** Why there is no report: `fileconv batch report` writes it. */
  reportFailure?: string;
}

/** Bounds of the window of a batch. */
export const defaultWindow = 50;
export const maxWindow = 500;

export function isWindow(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= maxWindow;
}

/** Argument of the signal `batchCancel`. */
export interface BatchCancel {
  /** What becomes of the jobs in flight. Default: `cancel`. */
  inFlight?: 'cancel' | 'finish';
}
