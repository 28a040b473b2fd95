import type { OnExisting, OutputFile, SourceContent } from './job';

/** What the activities take and give. Types only, shared by the workflows that call them and the code that implements them. */

/** What an upload left in the destination's folder, by which workers of later steps find out whether they see the same folder. */
export interface FolderMarker {
  /** Of the worker that left it: those of the same view need not look. */
  view: string;
  /** Of the run that left it; one that Temporal's reset began does without. */
  runId: string;
}

export interface UploadFileInput {
  app: string;
  uri: string;
  output: string;
  destination?: string;
  onExisting: OnExisting;
  /** Hash what is uploaded. */
  describeSource?: true;
  /** Of the job's first upload. */
  marker?: FolderMarker;
}

export type UploadFileResult =
  | { skipped: true }
  | {
      skipped: false;
      connector: string;
      /** Size of the source. */
      bytes: number;
      source?: SourceContent;
      /** Absent: there is no destination, or all workers see the same. */
      marker?: FolderMarker;
      /** Absent: none. */
      warnings?: Record<string, string>;
      requests: number;
    };

export interface ConvertFileInput {
  app: string;
  connector: string;
  sourceName: string;
  output: string;
  input?: string;
  destination?: string;
  onExisting: OnExisting;
  /** Without it the request is answered when the conversion was accepted. */
  mode?: 'sync';
  /** The job is parked for vCredits: too few of them is "not yet" until the deadline. */
  parked?: ParkedSubmit;
  /** When an operator has last said that credits were restored. Milliseconds since the epoch. */
  restoredAt?: number;
  /** The job was reset to before this submit: what it had submitted since is not known to it. */
  afterReset?: true;
  room?: NeededRoom;
  marker?: FolderMarker;
  /** Of the callback URL, if this worker asks for a callback. The URL itself never enters a history. */
  nonce?: string;
}

/** The room that a result takes up at its destination. */
export interface NeededRoom {
  /** An estimate before the conversion. Absent: not known. */
  bytes?: number;
  /** The job waits for room: too little of it is "not yet" until the deadline. */
  isAwaited?: true;
}

/** A submit that waits for vCredits. Milliseconds since the epoch. */
export interface ParkedSubmit {
  since: number;
  /** The credits deadline: the last attempt comes then. */
  until: number;
  /** There is reason to think that there are credits again. */
  askAtOnce: boolean;
}

/** The state of a conversion task as the service last told it. */
export interface TaskReport {
  taskId: string;
  /** Connector for the download; the same as the task's id by the document. */
  connector: string;
  finished: boolean;
  vcredits?: number;
  durationSeconds?: number;
  warnings: Record<string, string>;
}

export type ConvertFileResult =
  | { skipped: true }
  | {
      skipped: false;
      report: TaskReport;
      requests: number;
      /** The service was asked to call back. */
      callback?: true;
      /** As in the input. */
      afterReset?: true;
    };

export interface CheckTaskInput {
  app: string;
  taskId: string;
  sourceName: string;
  input?: string;
  output: string;
  /** Milliseconds since the epoch. */
  submittedAt: number;
  /** After the submit; absent: as learned from conversions of the same formats. */
  firstCheckAfterMs?: number;
  maxCheckIntervalMs: number;
  /** The task's id came with a callback, so the service may not know it. */
  fromCallback?: true;
}

export interface CheckTaskResult {
  report: TaskReport;
  requests: number;
}

export interface DownloadFileInput {
  app: string;
  taskId: string;
  sourceName: string;
  output: string;
  destination: string;
  onExisting: OnExisting;
  room?: NeededRoom;
  /** An earlier run of the job may have delivered it: a file of the same bytes is taken for its result. */
  mayBeDelivered?: true;
  marker?: FolderMarker;
}

export type DownloadFileResult =
  | { skipped: true; requests: number }
  | {
      skipped: false;
      file: OutputFile;
      /** Absent: none. */
      warnings?: Record<string, string>;
      requests: number;
    };

export interface DiscardDownloadInput {
  app: string;
  /** As in the job's input: the folder that it names or lies in is searched. */
  destination: string;
  marker?: FolderMarker;
  /** No download has begun, so there is no temporary file to look for. */
  markerOnly?: true;
}

/** Heartbeat of a submit whose first byte is about to be sent: from here on its outcome may be unknown. */
export interface SendingFence {
  phase: 'sending';
  /** The service is asked to call back. */
  callback?: true;
  /** As in the input. */
  afterReset?: true;
}

/** The fence in the details of a heartbeat, which are not to be trusted to be of any shape; undefined when there is none. */
export function readFence(details: unknown): SendingFence | undefined {
  const fence = details as Partial<SendingFence> | null | undefined;
  return fence?.phase === 'sending' ? { ...fence, phase: 'sending' } : undefined;
}

/** The activities of a conversion job, by their names in the history. */
export interface ConversionActivities {
  'conversion.uploadFile'(input: UploadFileInput): Promise<UploadFileResult>;
  'conversion.convertFile'(input: ConvertFileInput): Promise<ConvertFileResult>;
  'conversion.checkTask'(input: CheckTaskInput): Promise<CheckTaskResult>;
  'conversion.downloadFile'(input: DownloadFileInput): Promise<DownloadFileResult>;
  'conversion.discardDownload'(input: DiscardDownloadInput): Promise<void>;
}

/** What a job does about a failed activity; decided by the activity, which knows the error table. */
export const jobReactions = [
  'fail',
  'uploadAgain',
  'submitAgain',
  'awaitCredits',
  'outcomeUnknown',
  /** The service no longer has the accepted task, or its result. */
  'taskLost',
  /** The destination has no room for the result. */
  'awaitRoom',
] as const;
export type JobReaction = (typeof jobReactions)[number];

/** Who says so: the service of the task itself, the service of a request, or nobody but the worker. */
export type FailureOrigin = 'task' | 'request' | 'worker';

/** First detail of the `ApplicationFailure` of every activity. */
export interface ActivityFailureDetails {
  code: string;
  /** The code is neither the document's nor one of ours: there may be any number of such. */
  unlisted?: true;
  reaction: JobReaction;
  origin: FailureOrigin;
  /** The service ordered a wait of so many milliseconds. */
  orderedWaitMs?: number;
  /** As in the submit's input. */
  afterReset?: true;
  httpStatus?: number;
  endpoint?: string;
  taskId?: string;
  /** Of a destination without room: what was to come there. */
  neededBytes?: number;
  /** Requests that all attempts have spent. */
  requests?: number;
  /** The service was asked to call back. */
  callback?: true;
}

/** Codes of ours: types of failures that no answer of the service stands behind. */
export const failureCodes = {
  /** The submit may have been executed, and no answer tells. */
  outcomeUnknown: 'OUTCOME_UNKNOWN',
  /** The service says "not yet". */
  notFinished: 'CONVERSION_NOT_FINISHED',
  /** A completed task without an error whose output is not successful. */
  unknownOutputStatus: 'UNKNOWN_OUTPUT_STATUS',
  uploadDeadline: 'UPLOAD_DEADLINE',
  submitDeadline: 'SUBMIT_DEADLINE',
  conversionDeadline: 'CONVERSION_DEADLINE',
  downloadDeadline: 'DOWNLOAD_DEADLINE',
  creditsDeadline: 'CREDITS_DEADLINE',
  invalidJob: 'INVALID_JOB',
  invalidBatch: 'INVALID_BATCH',
  invalidSweep: 'INVALID_SWEEP',
  /** A job that was started is not known to Temporal any more. */
  jobLost: 'JOB_LOST',
  /** What a batch counted is not what its files say. */
  batchCounts: 'BATCH_COUNTS_DIFFER',
  /** What an earlier run of a batch left can't be read. */
  batchRunDamaged: 'BATCH_RUN_DAMAGED',
  /** The app holds its share of the worker's activity slots. */
  slotsTaken: 'SLOTS_TAKEN',
  /** The worker has no app profile of this name. */
  unknownApp: 'UNKNOWN_APP',
  /** A defect of ours. */
  unexpected: 'UNEXPECTED',
} as const;
