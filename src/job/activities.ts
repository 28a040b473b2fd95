import type { EarlierRuns } from './charge';
import type {
  ConversionJobInput,
  ConversionParameters,
  JobOutcome,
  OnExisting,
  OutputFile,
  ParkReason,
  Recall,
  ResultCheck,
  SharedUpload,
  SourceContent,
} from './types';
import type { NoticeType } from './names';

/** Inputs and results of the job activities, shared by the workflows and the implementations. */

export interface RecallJobInput {
  /** What is asked for now. */
  job: Pick<ConversionJobInput, 'app' | 'source' | 'output' | 'input' | 'parameters' | 'destination'>;
  recall: Recall;
  /** By a batch's ledger, for when the history of that run is gone. */
  known?: EarlierRuns;
}

/** What the last run decides: a result of before, a failure of before, or a start that knows what was left. */
export type RecallJobResult =
  | { kind: 'done'; outcome: JobOutcome }
  | { kind: 'keep'; outcome: JobOutcome }
  | { kind: 'start'; earlier?: EarlierRuns; replaces?: ConversionJobInput['replaces'] };

/** What each step of a job is told of its waits for a person. Times are milliseconds since the epoch. */
export interface Parking {
  /** Set while the job is parked: another refusal of this kind then means "not yet", until the deadline. */
  parked?: {
    reason: ParkReason;
    /** Code of the refusal. */
    code: string;
    message: string;
    /** The deadline, and time of the last attempt. */
    until: number;
    /** Somebody has said that the app is ready. Absent: waits first. */
    asksAtOnce?: true;
  };
  /** When the app was last said to be ready: older refusals are outdated. */
  readyAt?: number;
  /** A refused account parks the job. Absent: it fails the job, unless the conversion is paid for. */
  parksRefused?: true;
}

/** What a result has to pass before it gets its name, beside what its bytes tell. Absent: nothing. */
interface Checking {
  check?: ResultCheck;
}

export interface UploadFileInput extends Parking, Checking {
  app: string;
  uri: string;
  output: string;
  destination?: string;
  onExisting: OnExisting;
  /** As in the job's input. */
  replaces?: ConversionJobInput['replaces'];
  /** Another job's upload: used as it is if the file is still the same. */
  upload?: SharedUpload;
  /** From the job's first upload. */
  host?: string;
}

export type UploadFileResult =
  | { skipped: true }
  | {
      skipped: false;
      connector: string;
      bytes: number;
      source?: SourceContent;
      /** Whose worker uploaded. Absent: no destination, or all workers see the same files. */
      host?: string;
      warnings?: Record<string, string>;
      requests: number;
    };

export interface ConvertFileInput extends Parking, Checking {
  app: string;
  connector: string;
  sourceName: string;
  output: string;
  input?: string;
  parameters?: ConversionParameters;
  destination?: string;
  onExisting: OnExisting;
  /** As in the job's input. */
  replaces?: ConversionJobInput['replaces'];
  /** Absent: the service responds once it has accepted the conversion. */
  mode?: 'sync';
  /** A conversion of a kind that the worker knows to be quick is awaited, too, and asked for no later than so long after its submit. */
  awaitsMs?: number;
  /**
   * The run in which the job began. In another run it has been reset, also while this activity was pending: it does not
   * know what it has submitted since.
   */
  originalRunId?: string;
  /** Space for the result: an estimate. Absent: unknown. */
  neededBytes?: number;
  /** From the upload. */
  host?: string;
  /** Nonce of the callback URL, if this worker requests a callback. The URL itself never enters a history. */
  nonce?: string;
}

/** The state of a conversion task, as last reported by the service. */
export interface TaskReport {
  taskId: string;
  /** Connector for the download; by the document, the same as the task id. */
  connector: string;
  finished: boolean;
  vcredits?: number;
  durationSeconds?: number;
  warnings: Record<string, string>;
}

export interface AcceptedSubmit {
  skipped: false;
  report: TaskReport;
  requests: number;
  /** How long after the submit its end was awaited in vain; 0: the service is to be asked at once. Absent: it was not awaited. */
  notYetMs?: number;
  /** The service was asked for a callback, which has not come to the step that submits. */
  callback?: true;
  /** The job was reset, and may have submitted before. */
  afterReset?: true;
}

export type ConvertFileResult = { skipped: true } | AcceptedSubmit;

export interface CheckTaskInput extends Parking {
  app: string;
  taskId: string;
  sourceName: string;
  input?: string;
  output: string;
  /** Milliseconds since the epoch. */
  submittedAt: number;
  /** After the submit; absent: learned from conversions of the same formats. */
  firstCheckAfterMs?: number;
  /** As in the submit's result. */
  notYetMs?: number;
  maxCheckIntervalMs: number;
  /** A callback has just told of the end. */
  isCalled?: true;
  /** The task id came from a callback, so the service may not know it. */
  fromCallback?: true;
  /** An earlier run of the job submitted the task, so the service may have forgotten it. */
  isEarlier?: true;
}

export interface CheckTaskResult {
  /** Not finished only for a job that was parked: the service answers again. */
  report: TaskReport;
  requests: number;
}

export interface DownloadFileInput extends Parking, Checking {
  app: string;
  taskId: string;
  sourceName: string;
  output: string;
  destination: string;
  onExisting: OnExisting;
  /** As in the job's input. */
  replaces?: ConversionJobInput['replaces'];
  /** Size of what did not fit before. */
  neededBytes?: number;
  /** The task is an earlier run's, which may have delivered the result. */
  isEarlier?: true;
  /** This run may have delivered the result. A file with the same bytes counts as this job's. */
  mayBeDelivered?: true;
  /** From the upload. */
  host?: string;
}

export type DownloadFileResult =
  | { skipped: true; requests: number }
  | {
      skipped: false;
      file: OutputFile;
      /** Why the result has not passed its check: then the file is beside the destination. */
      suspect?: string;
      warnings?: Record<string, string>;
      requests: number;
    };

export interface DiscardDownloadInput {
  app: string;
  /** As in the job's input: a folder, or a file whose folder is searched. */
  destination: string;
  /** From the upload. */
  host?: string;
}

/** Heartbeat of a submit just before its first byte: from here on its outcome may be unknown. */
export interface SendingFence {
  phase: 'sending';
  callback?: true;
  /** As in the result. */
  afterReset?: true;
}

/** The fence in unvalidated heartbeat details; undefined when there is none. */
export function readFence(details: unknown): SendingFence | undefined {
  const fence = details as Partial<SendingFence> | null | undefined;
  return fence?.phase === 'sending' ? { ...fence, phase: 'sending' } : undefined;
}

/** Heartbeat of a submit that was accepted, and awaits the end of the conversion: nothing about it is unknown. */
export interface AwaitingHeartbeat {
  phase: 'awaiting';
  accepted: AcceptedSubmit;
}

/** The accepted submit in unvalidated heartbeat details; undefined when there is none. */
export function readAccepted(details: unknown): AcceptedSubmit | undefined {
  const heartbeat = details as Partial<AwaitingHeartbeat> | null | undefined;
  return heartbeat?.phase === 'awaiting' ? heartbeat.accepted : undefined;
}

/** In the details of every heartbeat after a failed attempt: a deadline that passes later does not hide why. */
export interface LastFailure {
  last?: string;
}

/** The last failure in unvalidated heartbeat details; undefined when there is none. */
export function readLast(details: unknown): string | undefined {
  return (details as LastFailure | null | undefined)?.last;
}

/** The activities of a conversion job, by their names in the history. */
export interface ConversionActivities {
  'conversion.recallJob'(input: RecallJobInput): Promise<RecallJobResult>;
  'conversion.uploadFile'(input: UploadFileInput): Promise<UploadFileResult>;
  'conversion.convertFile'(input: ConvertFileInput): Promise<ConvertFileResult>;
  'conversion.checkTask'(input: CheckTaskInput): Promise<CheckTaskResult>;
  'conversion.downloadFile'(input: DownloadFileInput): Promise<DownloadFileResult>;
  'conversion.discardDownload'(input: DiscardDownloadInput): Promise<void>;
}

/** How a job reacts to a failed activity; decided by the activity, which knows the error table. */
export const jobReactions = [
  'fail',
  'uploadAgain',
  'submitAgain',
  /** A person has to act: see `parkedFor`. */
  'park',
  'outcomeUnknown',
  /** The service no longer has the accepted task, or its result. */
  'taskLost',
] as const;
export type JobReaction = (typeof jobReactions)[number];

/** Source of the failure: the task itself, a request that the service answered, or only the worker. */
export type FailureOrigin = 'task' | 'request' | 'worker';

/** First detail of every activity's `ApplicationFailure`. */
export interface ActivityFailureDetails {
  code: string;
  /** The code is neither the document's nor one of ours; such codes are unbounded. */
  unlisted?: true;
  reaction: JobReaction;
  /** With reaction `park`. */
  parkedFor?: ParkReason;
  origin: FailureOrigin;
  /** Wait ordered by the service, in milliseconds. */
  orderedWaitMs?: number;
  afterReset?: true;
  httpStatus?: number;
  endpoint?: string;
  taskId?: string;
  /** Size of what did not fit at the destination. */
  neededBytes?: number;
  /** Requests sent by all attempts. */
  requests?: number;
  /** The service was asked for a callback. */
  callback?: true;
  /** Set by a plan: what the worker is configured to tell. */
  notifies?: readonly NoticeType[];
}

/** Our own codes: types of failures that do not come from a response of the service. */
export const failureCodes = {
  /** The submit may have run, and no response tells. */
  outcomeUnknown: 'OUTCOME_UNKNOWN',
  /** The service answers "not yet". */
  notFinished: 'CONVERSION_NOT_FINISHED',
  /** The task completed without an error, but its output is not successful. */
  unknownOutputStatus: 'UNKNOWN_OUTPUT_STATUS',
  uploadDeadline: 'UPLOAD_DEADLINE',
  submitDeadline: 'SUBMIT_DEADLINE',
  conversionDeadline: 'CONVERSION_DEADLINE',
  downloadDeadline: 'DOWNLOAD_DEADLINE',
  invalidJob: 'INVALID_JOB',
  invalidBatch: 'INVALID_BATCH',
  invalidSweep: 'INVALID_SWEEP',
  /** Only when a job is retried. */
  sourceChanged: 'SOURCE_CHANGED',
  /** A result was delivered, and is neither at its destination nor at the service any more. */
  resultGone: 'RESULT_GONE',
  /** It was delivered beside its destination, since it has not passed its check. */
  resultSuspect: 'RESULT_SUSPECT',
  /** The worker can't do the check that the job asks for. */
  checkUnavailable: 'CHECK_UNAVAILABLE',
  /** A check came to no end, which says nothing of the result. */
  checkNotRun: 'CHECK_NOT_RUN',
  /** Another job writes to the destination. */
  destinationTaken: 'DESTINATION_TAKEN',
  /** Temporal no longer knows a job that was started. */
  jobLost: 'JOB_LOST',
  /** A batch's counts differ from those of its files. */
  batchCounts: 'BATCH_COUNTS_DIFFER',
  /** The app has used up its share of the worker's activity slots. */
  slotsTaken: 'SLOTS_TAKEN',
  unknownApp: 'UNKNOWN_APP',
  /** The file or the function with the app's token gives none. */
  tokenUnreadable: 'TOKEN_UNREADABLE',
  /** The listener has not accepted a notice, or this worker knows of none. */
  noticeNotSent: 'NOTICE_NOT_SENT',
  /** A bug in this library. */
  unexpected: 'UNEXPECTED',
} as const;
