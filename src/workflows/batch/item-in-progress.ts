import type { BatchItem } from '../../batch/model/types';
import type { BatchItemResult } from '../../batch/model/state';
import type { EarlierRuns } from '../../job/charge';

/** An item that has been started and has not ended. */
export interface ItemInProgress extends CarriedItem {
  /** For items from an earlier run it is reread when it is needed. */
  row?: BatchItem;
}

/** State carried from run to run. It excludes the row, whose paths may be long: there may be 500 of them. */
export interface CarriedItem {
  item: number;
  /** Byte offset of its row in the manifest. */
  byte: number;
  /** Id of the item's job. */
  workflowId: string;
  /** Run of the job that is looked up or waited for. */
  runId?: string;
  /** From 2: how often the id is taken, of an item whose result gets a number. */
  number?: number;
  /** Milliseconds since the epoch. */
  startedAt: number;
  step: ItemStep;
  /** The row's: see `BatchItem`. */
  sourceGroup?: number;
  /** The batch starts its job, which uploads the source and tells. One of another run, or one that fetches, never will. */
  isUploading?: true;
  /** Another workflow has started the job that is waited for, and tells what it costs. */
  isOfOthers?: true;
  /** As the batch's ledger has it. */
  earlier?: EarlierRuns;
}

/**
 * - `starting`: `after` is the last run under the id, which has ended: the job looks up what it left. `isUntold`: it is of a run of this
 *   batch that had no end.
 * - `looking`: the id was used before.
 * - `blocked`: a running job writes another source, or with other options, to the destination.
 * - `started`: this run started the job and receives its completion.
 * - `awaited`: the job was started by another run or workflow, or has ended without telling what it left behind.
 * - `awaitsUpload`: its job starts when another row has uploaded the same source.
 */
export type ItemStep =
  | { kind: 'starting'; after?: string; isUntold?: true }
  | { kind: 'looking' }
  | { kind: 'blocked' }
  | { kind: 'started' }
  | { kind: 'awaited' }
  | { kind: 'awaitsUpload' };

/** Where the rows of items come from. */
export interface ItemRows {
  /** The row of an item that an earlier run of the workflow started. */
  at(byte: number): Promise<BatchItem>;
  /** The batch has run before, as its folder has it, which holds what those runs told. */
  readonly isRepeated: boolean;
}

export interface ItemEvents {
  /** `earlier`: what earlier runs left of the item. */
  ended: (result: BatchItemResult, earlier: EarlierRuns | undefined) => void;
  /** Rows that wait for an upload may start without it. */
  released: () => void;
}

/** The next run did not start the job, so it has to wait for it. */
export function carriedItem(entry: ItemInProgress): CarriedItem {
  const { step } = entry;
  const carried: ItemInProgress = { ...entry, step: step.kind === 'started' ? { kind: 'awaited' } : step };
  delete carried.row;
  return carried;
}
