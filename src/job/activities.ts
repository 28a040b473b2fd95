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

export interface RecallJobInput {
  /** The current request. */
  job: Pick<ConversionJobInput, 'app' | 'source' | 'output' | 'input' | 'parameters' | 'destination'>;
  recall: Recall;
  /** From a batch's ledger, in case the history of that run is gone. */
  known?: EarlierRuns;
}

/** `done` and `keep`: the job ends with this earlier result or failure. `start`: it runs, knowing the state left by the last run. */
export type RecallJobResult =
  | { kind: 'done'; outcome: JobOutcome }
  | { kind: 'keep'; outcome: JobOutcome }
  | { kind: 'start'; earlier?: EarlierRuns; replaces?: ConversionJobInput['replaces'] };

/** Whether an unvalidated result may be one of the activities below. Whoever completes one by hand in Temporal can give it any. */
export function isStepResult(result: unknown): boolean {
  const { kind, requests, skipped } = (result ?? {}) as Record<string, unknown>;
  return typeof kind === 'string' || typeof requests === 'number' || skipped === true;
}

/** How a step handles waits for a person. Times are milliseconds since the epoch. */
export interface Parking {
  /** Set while the job is parked: another refusal of this kind means "not yet", until the deadline. */
  parked?: {
    reason: ParkReason;
    code: string;
    message: string;
    /** The deadline, and the time of the last attempt. */
    until: number;
    /** The app was said to be ready: send at once. Absent: wait first. */
    asksAtOnce?: true;
  };
  /** When the app was last said to be ready: older refusals are outdated. */
  readyAt?: number;
  /** A refused account parks the job. Absent: it fails the job, unless the conversion has been paid for. */
  parksRefused?: true;
}

/** Check of a result before it gets its name, in addition to its bytes. Absent: no further check. */
interface Checking {
  check?: ResultCheck;
}

/** How a step that leads to a submit learns of a reset, perhaps while it is pending. */
interface BeforeSubmit {
  /** The run whose doings the job knows. Another one has been reset: what the run before it has submitted since decides. */
  knownRunId?: string;
}

/** Nothing was sent: the destination is taken and stays so, or the job first has to learn what it did before it was reset. */
export interface StepSkipped {
  skipped: true;
  /** The run that a reset has made. */
  resetRunId?: string;
}

export interface UploadFileInput extends Parking, Checking, BeforeSubmit {
  app: string;
  uri: string;
  output: string;
  destination?: string;
  onExisting: OnExisting;
  /** As in the job's input. */
  replaces?: ConversionJobInput['replaces'];
  /** Another job's upload: reused if the file is unchanged. */
  upload?: SharedUpload;
  /** Host of the worker that made the job's first upload. */
  host?: string;
}

export type UploadFileResult =
  | StepSkipped
  | {
      skipped: false;
      connector: string;
      bytes: number;
      source?: SourceContent;
      /** Host of the worker that uploaded. Absent: no destination, or all workers see the same files. */
      host?: string;
      warnings?: Record<string, string>;
      requests: number;
    };

export interface ConvertFileInput extends Parking, Checking, BeforeSubmit {
  app: string;
  connector: string;
  sourceName: string;
  output: string;
  input?: string;
  parameters?: ConversionParameters;
  destination?: string;
  onExisting: OnExisting;
  replaces?: ConversionJobInput['replaces'];
  /** Absent: the service responds as soon as it has accepted the conversion. */
  mode?: 'sync';
  /** If the worker knows this kind of conversion to be quick, it awaits the end, and polls at the latest this long after the submit. */
  awaitsMs?: number;
  /** Estimated size of the result. Absent: unknown. */
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
  /** How long after the submit a quick conversion was awaited without a result; 0: poll at once. Absent: it was not awaited. */
  notYetMs?: number;
  /** A callback was requested, and the submit step has not received it. */
  callback?: true;
}

export type ConvertFileResult = StepSkipped | AcceptedSubmit;

export interface CheckTaskInput extends Parking {
  app: string;
  taskId: string;
  sourceName: string;
  input?: string;
  output: string;
  /** Milliseconds since the epoch. */
  submittedAt: number;
  /** Counted from the submit. Absent: learned from conversions of the same formats. */
  firstCheckAfterMs?: number;
  /** As in the submit's result. */
  notYetMs?: number;
  maxCheckIntervalMs: number;
  /** A callback has just reported the end. */
  isCalled?: true;
  /** The task id came from a callback to the submit with this nonce: the service may not know it, or it may be another submit's. */
  fromCallback?: string;
  /** An earlier run of the job submitted the task, so the service may have forgotten it. */
  isEarlier?: true;
}

export interface CheckTaskResult {
  /** Unfinished only for a parked job: the service accepts its requests again. */
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
  replaces?: ConversionJobInput['replaces'];
  /** Size of the result that did not fit in an earlier attempt. */
  neededBytes?: number;
  /** The task belongs to an earlier run, which may have delivered the result. */
  isEarlier?: true;
  /** This run, or the one before a reset, may have delivered the result: a file with the same bytes counts as this job's. */
  mayBeDelivered?: true;
  host?: string;
}

export type DownloadFileResult =
  | { skipped: true; requests: number }
  | {
      skipped: false;
      file: OutputFile;
      /** Why the result failed its check; the file is then beside the destination. */
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

/** Heartbeat of a submit just before its first byte: from here on, its outcome may be unknown. */
export interface SendingFence {
  phase: 'sending';
  callback?: true;
}

/** Reads the fence from unvalidated heartbeat details; undefined if there is none. */
export function readFence(details: unknown): SendingFence | undefined {
  const fence = details as Partial<SendingFence> | null | undefined;
  return fence?.phase === 'sending' ? { ...fence, phase: 'sending' } : undefined;
}

/** Heartbeat of an accepted submit that awaits the end of the conversion: its outcome is known. */
export interface AwaitingHeartbeat {
  phase: 'awaiting';
  accepted: AcceptedSubmit;
}

/** Reads the accepted submit from unvalidated heartbeat details; undefined if there is none. */
export function readAccepted(details: unknown): AcceptedSubmit | undefined {
  const heartbeat = details as Partial<AwaitingHeartbeat> | null | undefined;
  return heartbeat?.phase === 'awaiting' ? heartbeat.accepted : undefined;
}

/** Part of every heartbeat after a failed attempt, so that a later deadline does not hide it. */
export interface LastFailure {
  /** The reason. */
  last?: string;
  /** Requests of all attempts, in a step of several. */
  requests?: number;
}

/** Reads the last failure from unvalidated heartbeat details. */
export function readLast(details: unknown): LastFailure {
  return (details as LastFailure | null | undefined) ?? {};
}

/** The activities of a conversion job, by their names in the history. */
export interface ConversionActivities {
  'conversion.recallJob'(input: RecallJobInput): Promise<RecallJobResult>;
  'conversion.uploadFile'(input: UploadFileInput): Promise<UploadFileResult>;
  'conversion.convertFile'(input: ConvertFileInput): Promise<ConvertFileResult>;
  'conversion.isUnsent'(): Promise<boolean>;
  'conversion.checkTask'(input: CheckTaskInput): Promise<CheckTaskResult>;
  'conversion.downloadFile'(input: DownloadFileInput): Promise<DownloadFileResult>;
  'conversion.discardDownload'(input: DiscardDownloadInput): Promise<void>;
}

/** How a job reacts to a failed activity. The activity decides, since it knows the error table. */
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

/** Whether the failure comes from the task itself, from a request that the service answered, or only from the worker. */
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
  httpStatus?: number;
  endpoint?: string;
  taskId?: string;
  /** Size of the result that did not fit at the destination. */
  neededBytes?: number;
  /** Requests sent by all attempts. */
  requests?: number;
  /** A callback was requested. */
  callback?: true;
  /** Set by a plan: the events that the worker is configured to send. */
  notifies?: readonly NoticeType[];
}

/** Our own codes: types of failures that no response of the service reports. */
export const failureCodes = {
  /** The submit may have run, and no response tells whether it did. */
  outcomeUnknown: 'OUTCOME_UNKNOWN',
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
  /** Only if a job is retried. */
  sourceChanged: 'SOURCE_CHANGED',
  /** The result was delivered, but is gone from its destination and from the service. */
  resultGone: 'RESULT_GONE',
  /** The result failed its check and was delivered beside its destination. */
  resultSuspect: 'RESULT_SUSPECT',
  /** The worker does not support the check that the job asks for. */
  checkUnavailable: 'CHECK_UNAVAILABLE',
  /** The check did not finish, which says nothing about the result. */
  checkNotRun: 'CHECK_NOT_RUN',
  /** Another job writes to the destination. */
  destinationTaken: 'DESTINATION_TAKEN',
  /** Temporal no longer knows a job that was started. */
  jobLost: 'JOB_LOST',
  /** The app has used up its share of the worker's activity slots. */
  slotsTaken: 'SLOTS_TAKEN',
  unknownApp: 'UNKNOWN_APP',
  /** The configured file or function provides no token for the app. */
  tokenUnreadable: 'TOKEN_UNREADABLE',
  /** The listener has not accepted a notice, or this worker has no listener configured. */
  noticeNotSent: 'NOTICE_NOT_SENT',
  /** A bug in this library. */
  unexpected: 'UNEXPECTED',
} as const;
