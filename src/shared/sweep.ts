import type { ConversionBatchInput, ConversionBatchResult } from './batch';
import type { OnUnknownOutcome } from './job';

/** What the workflow `conversionSweep`, its activities and its schedule take and give. Types only. */

/** Which files a sweep looks at, and what they are to become. Paths are `file:` URIs that the worker can open. */
export interface SweepPlan {
  /** Of the folder whose files are converted. */
  from: string;
  /** Target format. */
  to: string;
  /** Of the folder for the results, which mirror the folders of the sources. Made when it is missing. */
  out: string;
  /** Of the results' files, without the dot. Default: the format's name up to the first hyphen. */
  extension?: string;
  /** Look into the folders of the folder too. Default: no. */
  recursive?: boolean;
  /** Patterns of files and folders to leave out: of their names, or with a slash of their paths. */
  exclude?: string[];
  /** A file that changed within this time is left to the next sweep, and so is one that changes until it has passed once more. */
  settledForMs: number;
  /** Of the folder that holds the runs of the batch, which tell what was converted already. */
  batchFolder: string;
}

/** Input of the workflow `conversionSweep`. */
export interface ConversionSweepInput {
  /** Name of the batch that converts, and its workflow's id. */
  batch: string;
  plan: SweepPlan;
  /** How the batch does its work. */
  settings: Omit<ConversionBatchInput, 'folder' | 'items'>;
}

/** What the files of one sweep came to. */
export interface SweepCounts {
  /** New or changed files. `succeeded + failed + cancelled`, and those that were skipped because a result was there that no run of the batch wrote. */
  todo: number;
  succeeded: number;
  failed: number;
  cancelled: number;
  /** Not converted: an earlier run may have been charged for them and brought no result, and policy `fail` leaves them to a person. */
  kept: number;
  /** Converted by an earlier run from the same content. */
  done: number;
  /** Left to the next sweep: somebody may still be writing. */
  unsettled: number;
}

/** Result of the workflow `conversionSweep`. Failed files are counted; they are tried again by the next sweep. */
export interface ConversionSweepResult extends SweepCounts {
  /** That of the batch; `batchRunning`: the batch ran already, started by somebody else, and nothing was done. */
  status: ConversionBatchResult['status'] | 'batchRunning';
  /** `file:` URI of the results; absent when nothing was to be done. */
  results?: string;
  /** What a person should know, such as a folder that can't be read: the first of them. */
  warnings: string[];
}

export interface PlanSweepInput {
  batch: string;
  plan: SweepPlan;
  /** Of the batch. Default: `resubmit`. */
  onUnknownOutcome?: OnUnknownOutcome;
}

export type PlanSweepResult =
  | { batchRunning: true }
  | {
      batchRunning: false;
      /** The new run, as the batch takes it; absent when there is nothing to do. */
      run?: { folder: string; items: number };
      todo: number;
      kept: number;
      done: number;
      unsettled: number;
      warnings: string[];
    };

export interface DiscardBatchRunInput {
  /** `file:` URI of the folder of a run that was planned and never started. */
  folder: string;
}

/** The activities of a sweep, by their names in the history. */
export interface SweepActivities {
  'conversion.planBatch'(input: PlanSweepInput): Promise<PlanSweepResult>;
  'conversion.discardBatchRun'(input: DiscardBatchRunInput): Promise<void>;
}
