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
 * One row of a validated manifest. `manifest.jsonl` in the folder of a run holds one per line, in ascending order of `item`.
 * Destinations are unique and inside the folder given for them, except in rows refused as unclear, whose source and destination
 * may even be empty.
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
  /** Overrides the batch's policy; only in inline items. */
  onExisting?: OnExisting;
  /** Content at the destination that a run delivered; it is replaced whatever `onExisting` says. */
  replaces?: SourceContent;
  /** Equal in all rows of one source, which share an upload; absent if the source has one row. */
  sourceGroup?: number;
  /** What earlier runs of this batch left behind at the service for this item. */
  earlier?: EarlierRuns;
  /** Stays failed: an earlier run may have been charged, and with `onUnknownOutcome: fail` nothing is sent again. */
  kept?: KeptOutcome;
  /** The service is known not to convert this, or the row itself is invalid: the item fails or is skipped, and nothing is sent. */
  refused?: Refusal;
  /** Stamp of the source when the row was planned; only in a batch that moves its sources. */
  stamp?: string;
  /** The source as a sweep saw it when planning the row; set if the row is sent, or if an earlier refusal still holds. */
  seen?: Fingerprint;
  /** Skipped: an earlier run converted the same content with the same options, even if the result is gone. */
  done?: DoneBefore;
  /** Result of an earlier run, for a row that is not `done`. */
  before?: Delivered;
  /** What is left of a conversion that this row does not continue, for the case that its job submits nothing. */
  unresolved?: Unresolved;
}

/** Options of a conversion; a result made with other options does not count as the same conversion. */
export type ConversionOptions = Pick<BatchItem, 'output' | 'input' | 'parameters'> & {
  /** Of the source, in lower case, if it decides the input format. */
  extension?: string;
};

export interface Delivered extends DoneBefore {
  options: ConversionOptions;
}

/** A conversion that may have been charged but brought no file. */
export interface Unresolved extends EarlierRuns {
  options: ConversionOptions;
  /** How the row ended. */
  outcome?: KeptOutcome;
}

/** How the job of an earlier run ended, for an item that gets no new job. */
export type KeptOutcome = Omit<BatchItemResult, 'item' | 'status' | 'kept'> & {
  status: 'failed' | 'suspect';
};

/** Why a row is known to fail, with the code and message that its job would fail with. */
export interface Refusal {
  /** Error code of the document, or of ours. */
  code: string;
  message: string;
  /** The item is skipped, and does not count as failed. */
  isSkipped?: true;
  /** The row is invalid or conflicts with another, so that no job could convert it. Only a new plan helps. */
  isUnclear?: true;
}

/** The state of a source that a refusal depends on. Once it changes, the file is sent again. */
export interface Fingerprint {
  stamp: string;
  /** The content that was refused; absent if it was never uploaded whole. */
  source?: SourceContent;
  /** How often the service has refused this content. */
  times?: number;
}

/** The source and the result of an earlier conversion, or what it found in its place. */
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
  /** Nothing was converted: the last run skipped the item, because `output` was at its destination. */
  existed?: true;
}

/** An item that a program or a workflow passes to its batch directly, without a manifest. */
export type InlineItem = Pick<BatchItem, 'source' | 'output' | 'input' | 'parameters' | 'destination' | 'onExisting'>;

/** Files, folders and patterns, as the user wrote them. */
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
  /** URI, or `-` for standard input. */
  manifest: string;
  /** As written; its extension tells CSV from JSON Lines. */
  name: string;
  /** Base of relative sources. */
  folder: string;
  /** Default target format. */
  to?: string;
  /** Default input format. */
  input?: string;
  /** Default parameters; those of a row override them. */
  parameters?: ConversionParameters;
}

/** What a batch converts, and how its first activity plans that. Folders are URIs that end with a slash. */
export interface BatchPlan {
  /** Holds the batch's ledger, its runs and their reports. */
  folder: string;
  /** `last`: the rows of the last run that have not succeeded. */
  what: BatchSources | BatchManifest | 'last';
  /** Base of relative names. */
  cwd: string;
  /** Folder for the results, which mirror the folders of the sources. Default: beside each source, or as the manifest says. */
  out?: string;
  /** Default: `{dir}/{name}.{ext}`. */
  template?: string;
  /** Extensions of target formats, without the dot. Default: the format's name up to the first hyphen. */
  extensions?: Record<string, string>;
  /** Policy for files that the service is known not to convert. Default: `fail`. */
  unconvertible?: Unconvertible;
  /** URI of a file with the standard input, if `-` is named. */
  stdin?: string;
  /** Leaves out files that changed within this time. Default: off. */
  settledForMs?: number;
  /** Writes a run even if everything was done before, so that it reports the results. Default: no. */
  mayBeDone?: true;
  /** Where a schedule moves its sources after a run. Default: they stay. */
  moves?: SourceMoves;
}

/** Where the sources below one folder go, as URIs that end with a slash. */
export interface SourceMoves {
  /** Folder of the sources; they keep their paths relative to it when they move. */
  from: string;
  /** For sources whose results are delivered. Default: they stay. */
  done?: string;
  /** For sources that have failed, each with a file beside it that gives the reason. Default: they stay. */
  failed?: string;
  /** Set for a retry, which first moves failed sources back. */
  restores?: true;
}

/** Input of the workflow `conversionBatch`, whose id is the batch's name. */
export interface ConversionBatchInput {
  /** Name of the app profile in the worker's configuration. */
  app: string;
  /** Exactly one of this and `items` is given. */
  plan?: BatchPlan;
  /** At most 500; such a batch keeps no files of its own. */
  items?: InlineItem[];
  /** Maximum jobs in flight, 1 to 500. Default: 50. */
  window?: number;
  /** Default: `fail`. */
  onExisting?: OnExisting;
  /** For every job. Default: `async`. */
  mode?: ConversionMode;
  policies?: ConversionPolicies;
  /**
   * Starts no more jobs after this many failures, or once at least this percentage of the succeeded and failed items has failed, if
   * there are 20 of them. Default: never.
   */
  stopAfter?: { failures?: number; percent?: number };
  /**
   * Starts no more jobs once all runs of this batch together were charged this many vCredits; only jobs in flight can exceed it.
   * For inline items each run counts alone. Default: no limit.
   */
  maxVcredits?: number;
  /** Base URL of the Temporal UI, for links in the report. Default: no links. */
  uiUrl?: string;
  /**
   * An `http` or `https` URL that receives each event of this batch as a POST, instead of the listener configured on the workers.
   * Anyone who may read the workflow can read it. Default: that listener, if there is one.
   */
  notify?: string;
  /** Also converts, and marks, items that an earlier run may have been charged for without a result to fetch. Default: no. */
  resubmit?: true;
  /** Converts all items, whatever earlier runs did, and marks those with an open charge. Default: no. */
  again?: true;
  /**
   * Set by a schedule, which nobody watches: nothing that may have been charged is converted again, whatever the policy of the jobs;
   * a refused file is not resent before it changes; finding no good file is no failure.
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
  /** Absent: the job fetches an earlier result and uploads nothing. */
  upload?: SharedUpload;
}

/** Input of the workflow `conversionSweep`. */
export interface ConversionSweepInput {
  /** Name and workflow id of the batch that converts the files. */
  batch: string;
  input: ConversionBatchInput;
}

/** Result of the workflow `conversionSweep`: that of the batch. `batchRunning`: the batch was still running, so nothing was done. */
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
