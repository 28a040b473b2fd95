import type { Refusal } from '../../shared/batch';
import type { BatchRun } from '../runs/run-folders';
import type { LeftOut } from './draft-rows';
import type { FindingList } from './findings';

/** How much of one conversion there is to do. */
export interface FormatCount {
  /** The named input format, or the source's extension in lower case; empty when there is neither. */
  input: string;
  /** Of the sources, in lower case. */
  extension: string;
  output: string;
  rows: number;
  bytes: number;
}

/** Files of one kind that the service does not convert. */
export interface RefusedCount extends Omit<FormatCount, 'bytes'> {
  refusal: Refusal;
}

/** What a batch would do, or is about to. */
export interface PlannedBatch {
  /** The new run; absent when there are problems, when nothing is to be done, and of a dry run. */
  run?: BatchRun;
  /** Rows of the manifest: `done`, `kept`, `refused` and `todo` together. */
  rows: number;
  /** Converted by an earlier run from the same content, and still there. */
  done: number;
  /** An earlier run may have been charged for them and brought no result: policy `fail` converts them only with `resubmit`. */
  kept: number;
  /** Rows that fail without being sent, since the service does not convert them; the most frequent first. */
  refused: RefusedCount[];
  todo: number;
  /** Of the sources to do. */
  bytes: number;
  /** Of the rows to do, the most frequent first. */
  formats: FormatCount[];
  /** Rows to do that replace the result of an earlier run. */
  replaced: number;
  /** Rows to do whose destination holds something that no run of this batch wrote: the batch's `onExisting` decides. */
  existing: FindingList;
  leftOut: LeftOut;
  /** What keeps the batch from being run; no run was made. */
  problems: FindingList;
  /** What a person should know: files left out, and rows whose items will fail. */
  warnings: FindingList;
}
