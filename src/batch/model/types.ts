import type { BatchItemResult, ConversionBatchResult } from './state';
import type { EarlierRuns } from '../../job/charge';
import type {
  ConversionMode,
  ConversionParameters,
  ConversionPolicies,
  OnExisting,
  OutputFile,
  SharedUpload,
  SourceContent,
} from '../../job/types';
import type { Unconvertible } from '../../job/policies';

/**
 * One row of a checked manifest. `manifest.jsonl` in the folder of a batch's run holds one per line, by ascending
 * `item`. No two rows have the same destination, and no destination is outside the folder given for it, except for rows that
 * are refused as unclear: of these, source and destination may even be empty.
 */
export interface BatchItem {
  /** Row number from 1. The item's job is named by its destination: see `jobIdOf`. */
  item: number;
  /** URI that the worker can read. */
  source: string;
  /** Target format. */
  output: string;
  /** Input format. Default: by the source's extension. */
  input?: string;
  parameters?: ConversionParameters;
  /** URI of the result. */
  destination: string;
  /** Overrides the batch's; of inline items. */
  onExisting?: OnExisting;
  /** The destination holds what a run delivered, which is replaced whatever `onExisting` says. */
  replaces?: SourceContent;
  /** Has the same value in all rows of one source, which share an upload; absent if there is one row. */
  sourceGroup?: number;
  /** What earlier runs of this batch left behind at the service for this item. */
  earlier?: EarlierRuns;
  /** Stays failed: an earlier run may have been charged, and with `onUnknownOutcome: fail` nothing is sent again. */
  kept?: KeptOutcome;
  /** The service is known not to convert this, or the row itself is bad: the item fails, and nothing is sent. */
  refused?: Refusal;
  /** Stamp of the source when the row was planned; only in a batch that moves its sources. */
  stamp?: string;
  /** What a sweep saw when it planned the row, if the row is sent, or was refused when it was. */
  seen?: Fingerprint;
  /** An earlier run converted the same content with the same options, whatever became of the result: skipped. */
  done?: DoneBefore;
  /** What an earlier run delivered, for a row that is converted again. */
  before?: Delivered;
}

/** What a conversion was asked for; a result made with other options does not count. */
export type ConversionOptions = Pick<BatchItem, 'output' | 'input' | 'parameters'>;

export interface Delivered extends DoneBefore {
  options: ConversionOptions;
}

/** How the job of an earlier run ended, for an item that gets no new job. */
export type KeptOutcome = Omit<BatchItemResult, 'item' | 'status' | 'kept'> & {
  status: 'failed' | 'suspect';
};

/** Why a row is known to fail, with the code and message of a job that fails for it. */
export interface Refusal {
  /** The document's error code. */
  code: string;
  message: string;
  /** The item is left out, and does not count as failed. */
  isSkipped?: true;
  /** The row is none that a job could convert: its destination is another row's too, or is no place for it. Only another plan helps. */
  isUnclear?: true;
}

/** What a refusal depends on: once it has changed, the file is sent again. */
export interface Fingerprint {
  /** The source's stamp. */
  stamp: string;
  /** The content that was refused; absent if it was never uploaded whole. */
  source?: SourceContent;
  /** How often the service has refused it so. */
  times?: number;
}

/** What an earlier run converted, and its result. */
export interface DoneBefore {
  source: SourceContent;
  output: OutputFile;
  taskId?: string;
  /** As in that run's result. */
  possiblyChargedTwice?: true;
  possiblyChargedExtra?: number;
  /** The service's warnings about that conversion. */
  warnings?: Record<string, string>;
  /** The result is not where it was delivered, or is another file now. */
  missing?: true;
}

/** An item that a program or a workflow gives to its batch, instead of a row of a manifest. */
export type InlineItem = Pick<BatchItem, 'source' | 'output' | 'input' | 'parameters' | 'destination' | 'onExisting'>;

/** Files, folders and patterns, as somebody wrote them. */
export interface BatchSources {
  sources: readonly string[];
  /** Target formats of each file. */
  to: string | readonly string[];
  input?: string;
  parameters?: ConversionParameters;
  /** Also search subfolders of named folders. Default: no. A pattern has its own depth. */
  recursive?: boolean;
  /** Patterns of files and folders to leave out, matched against names, or against paths if they contain a slash. */
  exclude?: readonly string[];
  /** Only files changed since then, in milliseconds since the epoch. */
  modifiedSince?: number;
  /** A file with one path per line, or NUL-terminated. */
  filesFrom?: string;
}

export interface BatchManifest {
  /** URI, or `-` for what was piped in. */
  manifest: string;
  /** As written; its extension tells CSV from JSON Lines. */
  name: string;
  /** Relative sources start from it. */
  folder: string;
  /** Default target format. */
  to?: string;
  /** Default input format. */
  input?: string;
  /** Where a row does not say otherwise. */
  parameters?: ConversionParameters;
}

/** What a batch converts, as its first activity finds it. Folders are URIs that end with a slash. */
export interface BatchPlan {
  /** Holds the batch's ledger, its runs and their reports. */
  folder: string;
  /** `last`: the rows of the last run that have not succeeded. */
  what: BatchSources | BatchManifest | 'last';
  /** What is written relative starts from it. */
  cwd: string;
  /** For the results, which mirror the folders of the sources. Default: beside each source, or as the manifest says. */
  out?: string;
  /** Default: `{dir}/{name}.{ext}`. */
  template?: string;
  /** Extensions of target formats, without the dot. Default: the format's name up to the first hyphen. */
  extensions?: Record<string, string>;
  /** What becomes of a file that the service is known not to convert. Default: `fail`. */
  unconvertible?: Unconvertible;
  /** What was piped in, where `-` is named: the URI of a file. */
  stdin?: string;
  /** Leaves out files that changed within this time. Default: off. */
  settledForMs?: number;
  /** Makes a run even if all was done before, so that it tells their results. Default: no. */
  mayBeDone?: true;
  /** Where a schedule moves its sources in the end. Default: they stay. */
  moves?: SourceMoves;
}

/** Where the sources below one folder go, as URIs that end with a slash. */
export interface SourceMoves {
  /** Below the other folders, a source has the path that it has below this one. */
  from: string;
  /** For sources whose results are delivered. Default: they stay. */
  done?: string;
  /** For sources that have failed, each with the reason beside it. Default: they stay. */
  failed?: string;
  /** A retry first moves back what has failed. */
  restores?: true;
}

/** Input of the workflow `conversionBatch`, whose id is the batch's name. */
export interface ConversionBatchInput {
  /** Name of the app profile in the worker's configuration. */
  app: string;
  /** What is to be found; or else `items`. */
  plan?: BatchPlan;
  /** At most 500, whose batch keeps no files of its own. */
  items?: InlineItem[];
  /** Maximum jobs in flight, 1 to 500. Default: 50. */
  window?: number;
  /** Default: `fail`. */
  onExisting?: OnExisting;
  /** For every job. Default: `async`. */
  mode?: ConversionMode;
  policies?: ConversionPolicies;
  /**
   * Starts no more jobs after this many failures, or at this percentage of failures among succeeded and failed items or
   * above, once there are 20 of them. Default: never.
   */
  stopAfter?: { failures?: number; percent?: number };
  /**
   * Starts no more jobs once all runs of this batch have been charged so many vCredits: at most those of the jobs in flight come on top.
   * Runs of inline items count for themselves. Default: no limit.
   */
  maxVcredits?: number;
  /** Base URL of the Temporal UI, for links in the report. Default: no links. */
  uiUrl?: string;
  /**
   * Gets the events of this batch as a POST each, in place of the listener that the workers are configured with: an `http` or `https` URL.
   * Whoever may read the workflow can read it. Default: that listener, if there is one.
   */
  notify?: string;
  /** Also converts items of which an earlier run may have been charged without a result to fetch, and marks them. Default: no. */
  resubmit?: true;
  /** Converts all items, whatever earlier runs did; those of which a charge is open are marked. Default: no. */
  again?: true;
  /**
   * Nobody watches it: nothing that may have been charged is converted again, whatever the policy of its jobs; what the
   * service has refused is not sent again before the file changes; to find nothing good is no failure.
   */
  isScheduled?: true;
  /** Number of events after which the batch continues as new. Default: 2,000, more with a window above 250. */
  historyLimit?: number;
}

/** Argument of the signal `conversionItemWaits`. */
export interface ItemWaits {
  workflowId: string;
  code: string;
  message: string;
  /** As in `NeedsAttention`. */
  app?: string;
  /** The wait is over. A job that has ended need not signal it. */
  over: boolean;
}

/** Argument of the signal `conversionItemUploaded`. */
export interface ItemUploaded {
  workflowId: string;
  /** Absent: the job fetches what was converted before. */
  upload?: SharedUpload;
}

/** Input of the workflow `conversionSweep`. */
export interface ConversionSweepInput {
  /** Name and workflow id of the batch that converts the files. */
  batch: string;
  input: ConversionBatchInput;
}

/** Result of the workflow `conversionSweep`: that of the batch. `batchRunning`: it was running already, and nothing was done. */
export type ConversionSweepResult = ConversionBatchResult | { status: 'batchRunning' };

export const defaultWindow = 50;
export const maxWindow = 500;

export function isWindow(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= maxWindow;
}

/** Argument of the signal `batchCancel`. */
export interface BatchCancel {
  /** What happens to the jobs in flight. Default: `cancel`. */
  inFlight?: 'cancel' | 'finish';
}
