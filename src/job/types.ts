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

/** A file's upload, from which any number of jobs can convert until the service lets it expire. */
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
      /** Name from which the result's is derived, for example `report.md`. Default: the connector. */
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
  /** Sent to the service beside the formats; it refuses those that it does not know. Default: none. */
  parameters?: ConversionParameters;
  /**
   * `file:` URI of the result, or of a folder when it ends with `/`: the result is then named after the source.
   * Default: the result stays at the service.
   */
  destination?: string;
  /** Default: `fail`. */
  onExisting?: OnExisting;
  /** What a run of the caller's wrote to the destination: replaced whatever `onExisting` says, as long as it is still that. */
  replaces?: SourceContent;
  /**
   * `sync`: the convert request returns the result, so the job does not poll: four requests in all. For conversions
   * known to take less than `policies.submitTimeout`; beyond it the outcome is unknown. Default: `async`.
   */
  mode?: ConversionMode;
  /** Made by another job. The file is uploaded again if it has changed since, or the service no longer has this. */
  upload?: SharedUpload;
  /** Tells its parent of the upload by the signal `conversionItemUploaded`. Default: false. */
  tellsUpload?: boolean;
  /** What earlier runs of this job left behind at the service. Default: nothing. */
  earlier?: EarlierRuns;
  /** There was a run under this id before: what that left decides what this one does. Default: there was none. */
  recall?: Recall;
  policies?: ConversionPolicies;
}

/** How a job takes up the last run under its id, which has ended: see docs/repetition.md. */
export interface Recall {
  runId: string;
  /** For a conversion that may have been charged and has nothing to fetch. */
  onUnknownOutcome: OnUnknownOutcome;
  /** Convert whatever was done. Default: no. */
  again?: true;
  /** Somebody waits for this one result: it is fetched if it was delivered and is gone. Default: no. */
  isSingle?: true;
  /** No run of the batch has told what the last job cost: this one does, should it find that done. Default: it is told. */
  isUntold?: true;
  /** A retry: a source that has changed since is not converted. Default: it is. */
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

/** What a parked job waits for: vCredits, that the service accepts its account, or room at the destination. */
export type ParkReason = 'credits' | 'account' | 'room';

/** Argument of the signal `appReady`. */
export interface AppReady {
  /** Milliseconds since the epoch; the same for every job signalled by one command. */
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
  /** Connector of the conversion task; use it as the `source` of a follow-up job. */
  connector?: string;
  /** What was uploaded. Absent when the source was a connector. */
  source?: SourceContent;
  /** Absent without a destination. */
  output?: OutputFile;
  /** An earlier run under this id has delivered the same: nothing was sent, and the status is `skipped`. */
  recalled?: true;
  /** Only with `recalled`: the result is not where it was delivered. */
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
  /** How many conversions more than one may have been charged. Absent: none. */
  possiblyChargedExtra?: number;
  /** `no` when nothing was converted, else `yes`. */
  charge: Charge;
  /** Milliseconds spent in each phase. */
  phaseMs: Partial<Record<JobPhase, number>>;
}

/** Result of the query `conversionState`. */
export interface ConversionJobState {
  phase: JobPhase;
  /** In phase `parked`. */
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
  /** Id and connector of the conversion task, when one was accepted. */
  taskId?: string;
  /** Known cost of the conversion, when a later step failed. */
  vcredits?: number;
  /** What was uploaded. */
  source?: SourceContent;
  /** Only with `RESULT_SUSPECT`: the result, beside its destination. */
  output?: OutputFile;
  /** The service's warnings up to the failure: name, and how to resolve it. */
  warnings: Record<string, string>;
  requests: number;
  /** Charge of the last conversion submitted. */
  charge: Charge;
  possiblyChargedTwice: boolean;
  possiblyChargedExtra?: number;
  /** Nothing was sent: what an earlier run of the job left is as it was. */
  kept?: true;
}

/** In the URI of an unknown store, a user name alone may mean something else, such as a container. */
const credentials = /^((?:file|https?|s3):\/\/)[^/?#]*@|^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*:[^/?#]*@/i;
/** Completes the name of what is refused for them. */
export const credentialsProblem = 'holds a user name or a password. Take them out.';

/** Whether a URI has a user name or a password, which would be seen wherever the URI is. */
export function holdsCredentials(uri: string): boolean {
  return credentials.test(uri);
}

/** A URI as it may be shown: the query of a signed URL is a secret, and so is a password. */
export function withoutSecrets(uri: string): string {
  return uri.replace(credentials, '$1$2').replace(/[?#].*$/s, '');
}

/** The last segment of a URI, decoded where possible. */
export function lastSegment(uri: string): string {
  return decoded(withoutSecrets(uri).replace(/\/+$/, '').split('/').pop() ?? uri);
}

/** Text with what URIs escape as it is; unchanged if that is no text. */
export function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The display name of a job's source. */
export function sourceName(source: ConversionSource): string {
  return 'uri' in source ? lastSegment(source.uri) : (source.name ?? `task ${source.connector}`);
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

/** Argument of the signal `conversionCallback`. It only wakes the job, which then polls the service itself. */
export interface CallbackArrival {
  nonce: string;
  /** Milliseconds since the epoch, by the receiver's clock. */
  arrivedAt: number;
  /** From the callback's body, for a job that does not know its task id. A hint: only the service's answer counts. */
  taskId?: string;
}

/** Every item is counted under exactly one of these. */
export type BatchItemEnd = 'succeeded' | 'failed' | 'skipped' | 'cancelled';

/** `suspect`, one of the failed: the result came, was paid for, and stands beside its destination. */
export type BatchItemStatus = BatchItemEnd | 'suspect';

export function endOfItem(status: BatchItemStatus): BatchItemEnd {
  return status === 'suspect' ? 'failed' : status;
}

/** How a job ended: what a batch keeps of it. */
export interface JobOutcome {
  status: BatchItemStatus;
  /** Code of the failure: the document's, or one of ours. */
  code?: string;
  message?: string;
  /** Phase in which a job failed or was cancelled. */
  phase?: JobPhase;
  /** The conversion task that the service accepted. */
  taskId?: string;
  /** Absent when no job was started in any run; `no` when the service was known to refuse the item. */
  charge?: Charge;
  /** The service's warnings: name, and how to resolve it. */
  warnings?: Record<string, string>;
  /** The content that was converted or uploaded. */
  source?: SourceContent;
  output?: OutputFile;
  vcredits?: number;
  requests?: number;
  /** More conversions than one may have been charged. */
  possiblyChargedTwice?: boolean;
  /** How many more. Absent: none. */
  possiblyChargedExtra?: number;
  /** Only for a skipped row: an earlier job delivered its result, which is gone. */
  missing?: true;
  /** Not sent again, since an earlier job may have been charged: the item fails as that job did. */
  kept?: true;
}
