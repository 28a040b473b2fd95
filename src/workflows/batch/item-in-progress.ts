import type { BatchItem } from '../../batch/model/types';
import type { BatchItemResult } from '../../batch/model/state';
import type { EarlierRuns } from '../../job/charge';

export interface ItemInProgress extends CarriedItem {
  /** Absent for an item of an earlier run, until it is reread. */
  row?: BatchItem;
}

/** Carried from run to run, for up to 500 items; excludes the row, whose paths may be long. */
export interface CarriedItem {
  item: number;
  /** Byte offset of the row in the manifest. */
  byte: number;
  workflowId: string;
  /** The run of the job that is looked up or awaited. */
  runId?: string;
  /** From 2: number in the job id, which also numbers the result's name, when lower numbers are taken. */
  number?: number;
  /** Milliseconds since the epoch. */
  startedAt: number;
  step: ItemStep;
  /** See `BatchItem`. */
  sourceGroup?: number;
  /** The job will upload the source and report it. Not set for jobs of other runs or jobs that fetch, which never report. */
  isUploading?: true;
  /** Another workflow started the awaited job and reports its cost. */
  isOfOthers?: true;
  /** From the batch's ledger. */
  earlier?: EarlierRuns;
}

/**
 * - `starting`: `after` is the last run under the id, which has ended and whose state the job looks up. `needsLookup`: that run belonged
 * to a run of this batch that never finished.
 * - `looking`: the id was used before.
 * - `blocked`: a running job writes another source or an older version of it, or with other options, to the destination.
 * - `started`: this run started the job and receives its completion.
 * - `awaited`: the job was started by another run or workflow, or has ended without reporting its charge.
 * - `awaitsUpload`: the job starts when another row has uploaded the same source.
 */
export type ItemStep =
  | { kind: 'starting'; after?: string; needsLookup?: true }
  | { kind: 'looking' | 'blocked' | 'started' | 'awaited' | 'awaitsUpload' };

export interface ItemRows {
  /** The row of an item started by an earlier run of the workflow. */
  at(byte: number): Promise<BatchItem>;
  /** The batch has run before, so its folder holds the results of earlier runs. */
  readonly isRepeated: boolean;
}

export interface ItemEvents {
  /** `earlier`: state left by earlier runs of the item. */
  ended: (result: BatchItemResult, earlier: EarlierRuns | undefined) => void;
  /** Rows that wait for this upload may start without it. */
  released: () => void;
}

/** A `started` job becomes `awaited`: the next run did not start it, so it receives no completion. */
export function carriedItem(entry: ItemInProgress): CarriedItem {
  const { step } = entry;
  const carried: ItemInProgress = { ...entry, step: step.kind === 'started' ? { kind: 'awaited' } : step };
  delete carried.row;
  return carried;
}
