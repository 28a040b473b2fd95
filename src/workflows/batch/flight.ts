import type { BatchItem, BatchItemResult } from '../../shared/batch';
import type { JobOutcome } from '../../shared/batch-activities';
import { earlierOfNext, type EarlierRuns, type RepetitionRules } from '../../shared/charge';

/** An item that has been started and has not ended. */
export interface Flight extends CarriedFlight {
  /** For flights from an earlier run it is reread when it is needed. */
  row?: BatchItem;
}

/** State carried from run to run. It excludes the row, whose paths may be long: there may be 500 flights. */
export interface CarriedFlight {
  item: number;
  /** Byte offset of its row in the manifest. */
  byte: number;
  /** Milliseconds since the epoch. */
  startedAt: number;
  step: FlightStep;
  /** Of the row: see `BatchItem`. */
  sourceGroup?: number;
  /** The item's job, or the job that is being looked up. */
  job?: { workflowId: string; runId?: string };
  /** What earlier jobs of the row left behind at the service. */
  earlier?: EarlierRuns;
  /** Requests of jobs that ended because the service refused the account. */
  requests?: number;
  /** When the job that `earlier` comes from ended, in milliseconds since the epoch. */
  foundAt?: number;
  /** The app was said to be ready when this job may have started already, so a refusal of it says nothing: another job tries. */
  isReadySince?: true;
}

/**
 * - `starting`: no job is known yet.
 * - `looking`: `job` may be the row's; the jobs of the items in `others` are looked up after it.
 * - `blocked`: `job` holds this item's id but converts something else.
 * - `started`: this run started `job` and receives its completion.
 * - `awaited`: `job` was started by another run or workflow.
 * - `held`: another job starts when the service no longer refuses the account, as it did to `job`, or, without `job`, when
 *   another row has uploaded the same source.
 * - `untold`: `job` ended with outcome `told`, which does not say what it left behind.
 */
export type FlightStep =
  | { kind: 'starting'; /** Last run under this id: another job's, or an earlier one of this row. */ after?: string }
  | { kind: 'looking'; others: number[] }
  | { kind: 'blocked' }
  | { kind: 'started' }
  | { kind: 'awaited' }
  | { kind: 'held' }
  | { kind: 'untold'; told: JobOutcome };

/** Where the rows of flights come from. */
export interface FlightRows {
  /** The row of an item that an earlier run of the workflow started. */
  at(byte: number): Promise<BatchItem>;
  /** Unique in the batch; what the item's job is called behind the name of the batch. */
  jobName(placed: { item: number; byte: number }): string;
}

export interface AccountRefusal {
  code: string;
  message: string;
}

export interface FlightEvents {
  ended: (result: BatchItemResult) => void;
  /** Nothing was decided about the item, whose flight is held. Without a refusal it may be released at once. */
  held: (item: number, refusal?: AccountRefusal) => void;
}

/** What is known of the job that ended, for the row's next one. */
export interface Repeating {
  /** Milliseconds since the epoch. */
  endedAt?: number;
  isSameContent?: boolean;
  /** The last run under the item's own id. */
  after?: string | undefined;
}

/** The part of an outcome that is about charges, for the next job of the row. */
function leftBy({ charge = 'maybe', taskId, source, possiblyChargedTwice }: JobOutcome): EarlierRuns {
  return {
    charge,
    ...(taskId !== undefined && { taskId }),
    ...(source && { source }),
    ...(possiblyChargedTwice === true && { possiblyChargedTwice }),
  };
}

/** What the row's next job has to know of one that has ended; `keep`: there must be no other. */
export function earlierOfNextJob(
  { earlier, foundAt }: Flight,
  outcome: JobOutcome,
  { endedAt, isSameContent, rules }: { endedAt: number; isSameContent: boolean; rules: RepetitionRules },
): EarlierRuns | 'keep' | undefined {
  const left = leftBy(outcome);
  const wasDelivered = outcome.status === 'succeeded';
  // What is already known is from a later job, or this job adds nothing.
  if (earlier && (wasDelivered || left.charge === 'no' || (foundAt !== undefined && foundAt > endedAt))) return earlier;
  const mark = earlier?.possiblyChargedTwice && { possiblyChargedTwice: true as const };
  return earlierOfNext({ ...left, ...(wasDelivered ? { delivered: true } : mark) }, { rules, isSameContent });
}

/** The next run did not start the job, so it has to wait for it. */
export function carriedFlight(flight: Flight): CarriedFlight {
  const { item, byte, startedAt, step, sourceGroup, job, earlier, requests, foundAt, isReadySince } = flight;
  return {
    item,
    byte,
    startedAt,
    step: step.kind === 'started' ? { kind: 'awaited' } : step,
    ...(sourceGroup !== undefined && { sourceGroup }),
    ...(job && { job }),
    ...(earlier && { earlier }),
    ...(requests !== undefined && { requests }),
    ...(foundAt !== undefined && { foundAt }),
    ...(isReadySince && { isReadySince }),
  };
}
