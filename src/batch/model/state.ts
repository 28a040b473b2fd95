import type { BatchItemEnd, JobOutcome } from '../../job/types';

/** How one item ended: a line of the part files and of the merged `results.jsonl`. */
export interface BatchItemResult extends JobOutcome {
  item: number;
  /** Absent when no job was started. */
  workflowId?: string;
  runId?: string;
  /** Milliseconds since the epoch. */
  startedAt?: number;
  durationMs?: number;
}

/** Item counts. `succeeded + failed + skipped + cancelled + inFlight + waiting` always equals `items`. */
export interface BatchCounts {
  items: number;
  succeeded: number;
  failed: number;
  skipped: number;
  cancelled: number;
  inFlight: number;
  waiting: number;
}

export type BatchStatus =
  'planning' | 'running' | 'paused' | 'stopping' | 'completed' | 'cancelled' | 'stopped' | 'budget';

/** Values of the search attribute `ConversionStatus` of a batch; `needsAttention`: some of its jobs are parked. */
export type ListedBatchStatus = BatchStatus | 'needsAttention';

/** Why a batch that is not paused starts no jobs: some in flight are parked. It continues when they do. */
export interface NeedsAttention {
  /** For example `DESTINATION_FULL` or `INVALID_CREDENTIAL`. */
  code: string;
  message: string;
  /** Number of parked items. */
  jobs: number;
  /** When the first of them was parked, in milliseconds since the epoch. */
  since: number;
  /** The app that has too few vCredits or whose account is refused. Absent: there is no room at the destination. */
  app?: string;
}

/** Result of the query `batchState`. */
export interface BatchState extends BatchCounts {
  status: BatchStatus;
  window: number;
  needsAttention?: NeedsAttention;
  /** Milliseconds since the epoch. */
  startedAt: number;
  vcredits: number;
  requests: number;
  /** Items for which more than one conversion may have been charged, in this run or earlier ones. */
  possiblyChargedTwice: number;
  /** Among the failed: not sent again, since an earlier run may have been charged. */
  kept: number;
  /** Among the failed: not sent, since they were known to fail. Absent: none. */
  refused?: number;
  /** Among the failed: their results are kept beside the destinations, by this run or an earlier one. Absent: none. */
  suspect?: number;
  /** Among the skipped: left out, since the service was known to refuse them. Absent: none. */
  unconvertible?: number;
  /** Among the skipped: delivered before, but their results are gone. Absent: none. */
  missing?: number;
  /** Failures by error code, at most 20 codes; the rest are under `other`. */
  failures: Record<string, number>;
  /** Absent during planning, and for inline items. */
  planned?: PlannedRows;
  /** URI of the folder of this run, with its manifest, results and report. Absent: there was nothing to do, or inline items. */
  folder?: string;
}

/** Counts of a batch so far. */
export type BatchTotals = Pick<
  BatchState,
  | BatchItemEnd
  | 'vcredits'
  | 'requests'
  | 'possiblyChargedTwice'
  | 'kept'
  | 'refused'
  | 'suspect'
  | 'unconvertible'
  | 'missing'
  | 'failures'
>;

export function noTotals(): BatchTotals {
  const ended = { succeeded: 0, failed: 0, skipped: 0, cancelled: 0 };
  return { ...ended, vcredits: 0, requests: 0, possiblyChargedTwice: 0, kept: 0, failures: {} };
}

/** Result of the workflow `conversionBatch`. A batch with failed items still completes with a result. */
export interface ConversionBatchResult extends BatchState {
  /**
   * `cancelled`: by request; `stopped`: by `stopAfter`, or because the app was refused until `parkedDeadline`; `budget`: by
   * `maxVcredits`, with rows left that were not tried.
   */
  status: 'completed' | 'cancelled' | 'stopped' | 'budget';
  /** URI of `results.jsonl`: one `BatchItemResult` per line for every row, in the manifest's order. */
  results?: string;
  /** Results of inline items, in their order, instead of `results`. */
  itemResults?: BatchItemResult[];
  durationMs: number;
  /** URI of the report page; absent when it could not be written. */
  report?: string;
  /** Why there is no report; `fileconv batch report` writes it later. */
  reportFailure?: string;
  /** Sources that a schedule should have moved but could not. The next sweep tries again. */
  unmoved?: UnmovedSources;
}

const maxCodes = 20;
const otherCodes = 'other';

/** Counts failures by code, at most 20 codes and the rest together, to bound a workflow's state. */
export function countCode(failures: Record<string, number>, code: string | undefined): void {
  const name =
    code !== undefined && (Object.hasOwn(failures, code) || Object.keys(failures).length < maxCodes)
      ? code
      : otherCodes;
  failures[name] = (failures[name] ?? 0) + 1;
}
/** Sources that should have been moved but were not. */
export interface UnmovedSources {
  files: number;
  /** Why the first could not be moved. */
  why: string;
}

/** Expected cost of conversions, from earlier ones with the same pairs of formats. */
export interface CostEstimate {
  vcredits: number;
  /** Number of earlier conversions that it is based on. */
  from: number;
  /** Number of files that are not included, because no price is known for their formats. */
  unknown: number;
}

/** Result of planning a batch. */
export interface PlannedRows {
  /** The sum `todo + done + kept + refused`. */
  rows: number;
  todo: number;
  /** Delivered before. */
  done: number;
  /** Those of `done` whose results are not where they were delivered. */
  missing: number;
  /** Not converted: an earlier run may have been charged without a result to fetch. */
  kept: number;
  /** Not sent: the service does not convert them, or the rows themselves are invalid. */
  refused: number;
  /** Those of `refused` that fail, by code; the others are skipped. */
  failures: Record<string, number>;
  /** Left out, since they may still be being written. */
  unsettled: number;
  /** Files and folders that were left out because they can't be read or their names can't be used. */
  leftOut: number;
  /** The first 100: first what was left out, then rows that will fail, then results that are gone. */
  warnings: string[];
  /** Absent: no price is known, there is nothing to do, or nobody asked, as for a schedule. */
  estimate?: CostEstimate;
}
