import type { ConversionParameters } from './parameters';
import type { ConversionBatchInput, ConversionBatchResult } from './batch';
import type { Unconvertible } from './policies';

/** Which files a sweep converts, and to what. Folders are URIs that the worker can open. */
export interface SweepPlan {
  /** Folder whose files are converted. */
  from: string;
  /** Target format. */
  to: string;
  parameters?: ConversionParameters;
  /** Folder for the results; mirrors the source folders, and is created when missing. */
  out: string;
  /** Extension of the result files, without the dot. Default: the format's name up to the first hyphen. */
  extension?: string;
  /** Include subfolders. Default: no. */
  recursive?: boolean;
  /** Patterns of files and folders to exclude, matched against names, or against paths if they contain a slash. */
  exclude?: string[];
  /** What becomes of a file that the service is known not to convert. Default: `fail`. */
  unconvertible?: Unconvertible;
  /** A file modified within this time, or while the sweep waits for this time once more, is left to the next sweep. */
  settledForMs: number;
  /** Folder of the batch's runs, which show what was already converted. */
  batchFolder: string;
}

/** Input of the workflow `conversionSweep`. */
export interface ConversionSweepInput {
  /** Name and workflow id of the batch that converts the files. */
  batch: string;
  plan: SweepPlan;
  settings: Omit<ConversionBatchInput, 'folder' | 'items'>;
}

/** How the files of one sweep ended. */
export interface SweepCounts {
  /** New or changed: `succeeded + failed + cancelled`, plus those skipped for a file that no run of the batch wrote. */
  todo: number;
  succeeded: number;
  failed: number;
  cancelled: number;
  /** Not converted: an earlier run may have been charged without a result, and policy `fail` needs an operator. */
  kept: number;
  /** Not sent: the service does not convert them, or has refused them, and neither they nor its formats have changed. */
  refused: number;
  /** Already converted from the same content. */
  done: number;
  /** Left to the next sweep, since they may still be being written. */
  unsettled: number;
}

/** Result of the workflow `conversionSweep`. Failed files are counted; the next sweep retries them. */
export interface ConversionSweepResult extends SweepCounts {
  /** The batch's status; `batchRunning`: the batch was already running, and nothing was done. */
  status: ConversionBatchResult['status'] | 'batchRunning';
  /** URI of the results; absent when there was nothing to do. */
  results?: string;
  /** The first warnings, for example about unreadable folders. */
  warnings: string[];
}

export interface PlanSweepInput {
  /** The app whose service is asked what it converts. */
  app: string;
  batch: string;
  plan: SweepPlan;
}

export type PlanSweepResult =
  | { batchRunning: true }
  | {
      batchRunning: false;
      /** The new run; absent when there is nothing to do. */
      run?: { folder: string; items: number };
      todo: number;
      kept: number;
      refused: number;
      done: number;
      unsettled: number;
      warnings: string[];
    };

export interface DiscardBatchRunInput {
  /** URI of the folder of a planned run that was never started. */
  folder: string;
}

/** The activities of a sweep, by their names in the history. */
export interface SweepActivities {
  'conversion.planBatch'(input: PlanSweepInput): Promise<PlanSweepResult>;
  'conversion.discardBatchRun'(input: DiscardBatchRunInput): Promise<void>;
}
