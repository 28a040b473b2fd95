import type { Refusal } from '../../shared/batch';
import type { BatchRun } from '../runs/run-folders';
import type { LeftOut } from './draft-rows';
import type { FindingList } from './findings';

export interface FormatCount {
  /** The given input format, or the source's extension in lower case; empty if there is neither. */
  input: string;
  /** Of the sources, in lower case. */
  extension: string;
  output: string;
  rows: number;
  bytes: number;
}

export interface RefusedCount extends Omit<FormatCount, 'bytes'> {
  refusal: Refusal;
}

export interface PlannedBatch {
  /** The new run; absent if there are problems or nothing to do, and for a dry run. */
  run?: BatchRun;
  /** Rows of the manifest: the sum of `done`, `kept`, `refused` and `todo`. */
  rows: number;
  /** Converted by an earlier run from the same content; the result still exists. */
  done: number;
  /** An earlier run may have been charged but brought no result: policy `fail` converts these only with `resubmit`. */
  kept: number;
  /** Rows that fail without being sent because the service does not convert them, most frequent first. */
  refused: RefusedCount[];
  todo: number;
  /** Total size of the sources to do. */
  bytes: number;
  /** Of the rows to do, most frequent first. */
  formats: FormatCount[];
  /** Rows to do that replace the result of an earlier run. */
  replaced: number;
  /** Rows to do whose destination holds something that no run of this batch wrote: the batch's `onExisting` decides. */
  existing: FindingList;
  leftOut: LeftOut;
  /** What prevents the batch from running; no run was written. */
  problems: FindingList;
  /** Files left out, and rows whose items will fail. */
  warnings: FindingList;
}
