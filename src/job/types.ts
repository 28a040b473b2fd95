import type { Charge, EarlierRuns, SourceContent } from './charge';
import type { ConversionParameters } from './parameters';
import type {
  ConversionMode,
  OnExisting,
  OnUnknownOutcome,
  ConversionPolicies,
  Duration,
  ResultCheck,
} from './policies';

export type {
  ConversionMode,
  ConversionParameters,
  ConversionPolicies,
  Duration,
  OnExisting,
  OnUnknownOutcome,
  ResultCheck,
  SourceContent,
};

/** An upload that any number of jobs can share until the service lets it expire. */
export interface SharedUpload {
  connector: string;
  source: SourceContent;
}

/** The input: a file, or an earlier task. */
export type ConversionSource =
  | {
      /** `file:` URI that the worker can read. */
      uri: string;
    }
  | {
      /** Connector of an upload or conversion task of the same app. */
      connector: string;
      /** Name from which the result's name is derived, for example `report.md`. Default: the connector. */
      name?: string;
    };

/** Input of the workflow `conversionJob`. Stored in the history, so it never holds a token or file contents. */
export interface ConversionJobInput {
  /** Name of the app profile in the worker's configuration. */
  app: string;
  source: ConversionSource;
  /** Target format, `format` or `format-type`, for example `pdf` or `txt-markdown`. */
  output: string;
  /** Input format. Default: by the extension of the uploaded file. */
  input?: string;
  /** Further parameters for the service, which refuses unknown ones. Default: none. */
  parameters?: ConversionParameters;
  /**
   * `file:` URI of the result, or of a folder when it ends with `/`: the result is then named after the source.
   * Default: the result stays at the service.
   */
  destination?: string;
  /** Default: `fail`. */
  onExisting?: OnExisting;
  /** Content that an earlier run of the caller wrote to the destination: replaced whatever `onExisting` says, unless it has changed. */
  replaces?: SourceContent;
  /**
   * `sync`: the convert request returns the result, so the job does not poll: four requests in all. For conversions
   * known to take less than `policies.submitTimeout`; beyond it the outcome is unknown. Default: `async`.
   */
  mode?: ConversionMode;
  /** An upload made by another job. The job uploads the file again if it has changed since, or if the service no longer has the upload. */
  upload?: SharedUpload;
  /** Reports the upload to the parent workflow by the signal `conversionItemUploaded`. Default: false. */
  announcesUpload?: boolean;
  /** What earlier runs of this job left behind at the service. Default: nothing. */
  earlier?: EarlierRuns;
  /** The last run under this id, whose outcome decides what this run does. Default: there was none. */
  recall?: Recall;
  policies?: ConversionPolicies;
}

/** What a caller may set. The rest is what jobs and batches tell each other. */
export type JobRequest = Omit<ConversionJobInput, 'replaces' | 'upload' | 'announcesUpload' | 'recall'>;

/** How a job continues from the last run under its id, which has ended: see docs/repetition.md. */
export interface Recall {
  runId: string;
  /** Applies to a conversion that may have been charged and has no task to fetch. */
  onUnknownOutcome: OnUnknownOutcome;
  /** Converts in any case. Default: false. */
  again?: true;
  /** A caller waits for this result: if it was delivered and is gone, it is fetched. Default: false. */
  isSingle?: true;
  /** No run of the batch has reported the last job's cost: if the result exists, this run reports it. Default: already reported. */
  needsLookup?: true;
  /** A retry: does not convert a source that has changed since. Default: false. */
  isRetry?: true;
}

export const jobPhases = [
  'uploading',
  'submitting',
  'parked',
  'converting',
  'downloading',
  'completed',
  'failed',
  'cancelled',
] as const;
export type JobPhase = (typeof jobPhases)[number];

export const parkReasons = ['credits', 'account', 'room'] as const;
/** What a parked job waits for: vCredits, that the service accepts its account, or room at the destination. */
export type ParkReason = (typeof parkReasons)[number];

/** Argument of the signal `appReady`. */
export interface AppReady {
  /** Milliseconds since the epoch; the same for every job signalled by one command. */
  sentAt: number;
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
  /** Connector of the conversion task; use it as the `source` of a follow-up job. */
  connector?: string;
  /** The uploaded content. Absent if the source was a connector. */
  source?: SourceContent;
  /** Absent without a destination. */
  output?: OutputFile;
  /** An earlier run under this id has delivered the same result: nothing was sent, and the status is `skipped`. */
  recalled?: true;
  /** Only with `recalled`: the result is no longer where it was delivered. */
  missing?: true;
  /** vCredits consumed by the task, as reported by the service. */
  vcredits?: number;
  /** As reported by the service, in seconds. */
  durationSeconds?: number;
  /** The service's warnings: name, and how to resolve it. */
  warnings: Record<string, string>;
  /** HTTP requests sent. An attempt lost with its worker counts as one; requests of a parked job may be missing. */
  requests: number;
  /** A submit with an unknown outcome was sent again: the service may have charged two conversions. */
  possiblyChargedTwice: boolean;
  /** Number of extra conversions that may have been charged. Absent: none. */
  possiblyChargedExtra?: number;
  /** `no` when nothing was converted, else `yes`. */
  charge: Charge;
  /** Milliseconds spent in each phase. */
  phaseMs: Partial<Record<JobPhase, number>>;
}

/** Result of the query `conversionState`. */
export interface ConversionJobState {
  phase: JobPhase;
  /** Only in phase `parked`. */
  parkedFor?: ParkReason;
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
  /** Id and connector of the conversion task, if one was accepted. */
  taskId?: string;
  /** Cost of the conversion, if known when a later step failed. */
  vcredits?: number;
  /** The uploaded content. */
  source?: SourceContent;
  /** Only with `RESULT_SUSPECT`: the result, kept beside its destination. */
  output?: OutputFile;
  /** The service's warnings up to the failure: name, and how to resolve it. */
  warnings: Record<string, string>;
  requests: number;
  /** Charge of the last conversion submitted. */
  charge: Charge;
  possiblyChargedTwice: boolean;
  possiblyChargedExtra?: number;
  /** Nothing was sent: the state left by an earlier run of the job is unchanged. */
  kept?: true;
}

/** For unknown schemes only a user name with a password counts: a user name alone may be something else, such as a container. */
const credentials = /^((?:file|https?|s3):\/\/)[^/?#]*@|^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*:[^/?#]*@/i;
/** Predicate of an error message that begins with the field's name. */
export const credentialsProblem = 'holds a user name or a password. Take them out.';

/** Whether a URI contains a user name or password, which would show wherever the URI does. */
export function holdsCredentials(uri: string): boolean {
  return credentials.test(uri);
}

/** A URI that is safe to show: without credentials and without its query, since the query of a signed URL is a secret. */
export function withoutSecrets(uri: string): string {
  return uri.replace(credentials, '$1$2').replace(/[?#].*$/s, '');
}

/** The last segment of a URI, decoded if possible. */
export function lastSegment(uri: string): string {
  return decoded(withoutSecrets(uri).replace(/\/+$/, '').split('/').pop() ?? uri);
}

/** Decodes percent escapes; returns the text unchanged if they are invalid. */
export function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a URI names: equal for all spellings of the same file. Other escapes in a web address could name another file. */
export function placeOf(uri: string): string {
  try {
    const { protocol, pathname, href } = new URL(uri);
    if (protocol === 'file:') return decoded(pathname).replace(/\/+/g, '/');
    return /^https?:$/.test(protocol) ? href : protocol + decoded(uri.slice(protocol.length));
  } catch {
    return decoded(uri);
  }
}

/** The display name of a job's source. */
export function sourceName(source: ConversionSource): string {
  return 'uri' in source ? lastSegment(source.uri) : (source.name ?? `task ${source.connector}`);
}

/** Name of a job's result in a folder: the source's name with the target format as extension. */
export function outputName(sourceName: string, output: string): string {
  const base = sourceName.replace(/\.[^.]*$/, '') || sourceName;
  // `txt-markdown` is the format `txt` in the variant `markdown`.
  return `${base}.${output.split('-', 1)[0] ?? output}`;
}

/** One line that identifies a job: `invoice-17.docx → pdf`. */
export function jobSummary({ source, output }: Pick<ConversionJobInput, 'source' | 'output'>): string {
  return `${sourceName(source)} → ${output}`;
}

/** The submit that a callback belongs to: the signed part of a callback URL. */
export interface CallbackSubmission {
  workflowId: string;
  /** New for each submit of a job. */
  nonce: string;
}

/** Argument of the signal `conversionCallback`. The signal only wakes the job, which then polls the service itself. */
export interface CallbackArrival {
  nonce: string;
  /** Milliseconds since the epoch, by the receiver's clock. */
  arrivedAt: number;
  /** From the callback's body, for a job that does not know its task id. Only a hint, which the service's answer must confirm. */
  taskId?: string;
}

/** Every item is counted in exactly one of these. */
export type BatchItemEnd = 'succeeded' | 'failed' | 'skipped' | 'cancelled';

/** `suspect` counts as failed: the result was paid for but failed its check, and is kept beside its destination. */
export type BatchItemStatus = BatchItemEnd | 'suspect';

export function endOfItem(status: BatchItemStatus): BatchItemEnd {
  return status === 'suspect' ? 'failed' : status;
}

/** The part of a job's end that a batch keeps. */
export interface JobOutcome {
  status: BatchItemStatus;
  /** Code of the failure: the document's, or one of ours. */
  code?: string;
  message?: string;
  /** Phase in which a job failed or was cancelled. */
  phase?: JobPhase;
  /** The conversion task that the service accepted. */
  taskId?: string;
  /** Absent if no run has started a job; `no` if the service was known to refuse the item. */
  charge?: Charge;
  /** The service's warnings: name, and how to resolve it. */
  warnings?: Record<string, string>;
  /** The content that was converted or uploaded. */
  source?: SourceContent;
  output?: OutputFile;
  vcredits?: number;
  requests?: number;
  /** More than one conversion may have been charged. */
  possiblyChargedTwice?: boolean;
  /** Number of extra conversions. Absent: none. */
  possiblyChargedExtra?: number;
  /** Only for a skipped row: an earlier job delivered its result, which is gone. */
  missing?: true;
  /** Not sent again, since an earlier job may have been charged: the item fails as that job did. */
  kept?: true;
}
