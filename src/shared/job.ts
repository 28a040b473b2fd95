import type { Charge, EarlierRuns, SourceContent } from './charge';
import type { ConversionMode, OnExisting, OnUnknownOutcome } from './choices';
import type { ConversionPolicies, Duration } from './policies';

export type { ConversionMode, ConversionPolicies, Duration, OnExisting, OnUnknownOutcome, SourceContent };

/** Where the input comes from: a file, or a task that ran before. */
export type ConversionSource =
  | {
      /** A `file:` URI that the worker can read. */
      uri: string;
    }
  | {
      /** The connector of an upload or conversion task of the same app. */
      connector: string;
      /** The name the result is called after, for example `report.md`; default: the connector. */
      name?: string;
    };

/** Input of the workflow `conversionJob`. It is stored in the history: it never holds a token or file contents. */
export interface ConversionJobInput {
  /** Name of the app profile in the worker's configuration. */
  app: string;
  source: ConversionSource;
  /** Target format, `format` or `format-type`, for example `pdf` or `txt-markdown`. */
  output: string;
  /** Input format; without it the extension of the uploaded file decides. */
  input?: string;
  /**
   * A `file:` URI of the result, or of a folder when it ends with `/`: the result is then named after the source. Without it the result
   * stays at the service.
   */
  destination?: string;
  /** Default: `fail`. */
  onExisting?: OnExisting;
  /**
   * `sync`: the answer of the convert request is the result, so the job needs no poll: four requests in all. For conversions that are known to
   * take less than `policies.submitTimeout`: beyond it the outcome is unknown. Default: `async`.
   */
  mode?: ConversionMode;
  /** The result tells size and SHA-256 of what was uploaded. Costs the time to hash it; batches ask for it. Default: no. */
  describeSource?: boolean;
  /** What earlier runs of this job left behind at the service. Default: there were none. */
  earlier?: EarlierRuns;
  policies?: ConversionPolicies;
}

export type JobPhase =
  'uploading' | 'submitting' | 'awaitingCredits' | 'converting' | 'downloading' | 'completed' | 'failed' | 'cancelled';

/** Somebody's word that there are vCredits again. */
export interface CreditsWord {
  /** Milliseconds since the epoch; the same for every job that is told by one command. */
  saidAt: number;
}

/** A finished file at the destination. */
export interface OutputFile {
  uri: string;
  name: string;
  bytes: number;
  /** Lower-case hexadecimal. */
  sha256: string;
}

/** Result of the workflow `conversionJob`. */
export interface ConversionJobResult {
  /** `skipped`: the destination existed and `onExisting` is `skip`; nothing was converted. */
  status: 'succeeded' | 'skipped';
  /** Id of the conversion task, the document's `entity.id`. */
  taskId?: string;
  /** Connector of the conversion task: the `source` of a job that goes on from here. */
  connector?: string;
  /** When the job's input asked for it. */
  source?: SourceContent;
  /** Absent when no destination was asked for. */
  output?: OutputFile;
  /** vCredits that the service says the task consumed. */
  vcredits?: number;
  /** The service's own figure, in seconds. */
  durationSeconds?: number;
  /** The service's warnings: name, and how to resolve it. */
  warnings: Record<string, string>;
  /**
   * HTTP requests spent. An attempt that ended with its worker counts as one; what a parked job asked before it was told that there are vCredits
   * again is not known any more, and not counted.
   */
  requests: number;
  /** A submit had an unknown outcome and was sent again: the service may have charged two conversions. */
  possiblyChargedTwice: boolean;
  /** `no` when nothing was converted, else `yes`. */
  charge: Charge;
  /** Milliseconds spent in each phase. */
  phaseMs: Partial<Record<JobPhase, number>>;
}

/** Answer of the query `conversionState`. */
export interface ConversionJobState {
  phase: JobPhase;
  /** Milliseconds since the epoch. */
  since: number;
  summary: string;
  taskId?: string;
  possiblyChargedTwice: boolean;
}

/** First detail of a job's failure. */
export interface ConversionFailureDetails {
  /** The document's error code, or one of ours. */
  code: string;
  phase: JobPhase;
  httpStatus?: number;
  endpoint?: string;
  /** Id and connector of the conversion task, when one was accepted. */
  taskId?: string;
  /** vCredits that the conversion is known to have cost, when what came after it failed. */
  vcredits?: number;
  /** What was uploaded, when the job's input asked for it. */
  source?: SourceContent;
  /** The service's warnings up to the failure: name, and how to resolve it. */
  warnings: Record<string, string>;
  /** Requests sent to the service. */
  requests: number;
  /** Of the last conversion that was submitted. */
  charge: Charge;
  possiblyChargedTwice: boolean;
}

/** The last segment of a file URI or a path-like name, decoded where it can be. */
export function lastSegment(uri: string): string {
  const segment = uri.replace(/\/+$/, '').split('/').pop() ?? uri;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The name of a job's source as people know it. */
export function sourceName(source: ConversionSource): string {
  return 'uri' in source ? lastSegment(source.uri) : (source.name ?? `task ${source.connector}`);
}

/** One line that tells a job from the others: `invoice-17.docx → pdf`. */
export function jobSummary(input: Pick<ConversionJobInput, 'source' | 'output'>): string {
  return `${sourceName(input.source)} → ${input.output}`;
}
