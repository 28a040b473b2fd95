/** For programs that start conversions but run no worker; needs no worker package. */
export { FileConversionClient, JobRunningError } from './file-conversion-client';
export type { FileConversionClientOptions, JobStartOptions } from './file-conversion-client';
export type { BatchStartOptions, StartOptions } from './start-options';
export type { StoresByScheme } from '../storage/stores';
export { ConversionFailedError, ConversionHandle } from './conversion-handle';
export {
  BatchFailedError,
  BatchHandle,
  BatchRunningError,
  isBatchRunning,
  isRefusedStart,
  listBatches,
  readBatchInput,
} from './batch-handle';
export type { ListedBatch, RefusedPlan } from './batch-handle';
export type { BatchRequest } from './batch-request';
export type { Finding, FindingList } from '../batch/findings';
export type { PlannedBatch } from '../batch/plan/planned-batch';
export type { BatchReport } from '../batch/report/report';
export { NoSuchScheduleError, ScheduleTakenError, SweepSchedules } from './sweep-schedules';
export type {
  ListedSweepSchedule,
  SweepFailure,
  SweepOverlap,
  SweepScheduleRequest,
  SweepTimes,
} from './sweep-schedules';
export { InvalidRequestError, toUri } from './job-request';
export type { ConversionRequest } from './job-request';
export { createEncryptedDataConverter } from '../encryption/data-converter';
export { EncryptionKeyError } from '../encryption/encryption-codec';
export type {
  BatchItemStatus,
  ConversionFailureDetails,
  ConversionJobInput,
  ConversionJobResult,
  ConversionJobState,
  ConversionMode,
  ConversionPolicies,
  ConversionSource,
  Duration,
  JobPhase,
  OnExisting,
  OnUnknownOutcome,
  OutputFile,
  ParkReason,
  SourceContent,
} from '../job/types';
export type {
  BatchCancel,
  BatchItem,
  BatchPlan,
  ConversionBatchInput,
  ConversionSweepInput,
  ConversionSweepResult,
  InlineItem,
} from '../batch/model/types';
export type {
  PlannedRows,
  BatchCounts,
  BatchItemResult,
  BatchState,
  BatchStatus,
  ConversionBatchResult,
} from '../batch/model/state';
export { defaultTaskQueue } from '../job/names';

// For operators: the queries behind the `fileconv` commands.
export { hasStatus, refusalOf } from '../history/grpc';
export { inspectJob, NotAConversionJobError, readBatchWaiting } from './operations/inspect-job';
export type { BatchWaiting, JobInspection } from './operations/inspect-job';
export { readPendingStep } from './operations/job-waiting';
export type { NextStep, PendingStep, Waiting, WaitReason } from './operations/job-waiting';
export { countOpenJobs, listJobs, openStatuses, SearchAttributesMissingError } from './operations/list-jobs';
export type { JobFilter, JobList, ListedJob } from './operations/list-jobs';
export { planRetry } from './operations/retry-job';
export type { Retry, RetryOptions } from './operations/retry-job';
export {
  findSearchAttributes,
  registerSearchAttributes,
  SearchAttributeRegistrationError,
} from './operations/search-attributes';
export type { RegisteredSearchAttributes } from './operations/search-attributes';
export { aliveWorkers, readTaskQueue } from './operations/task-queue-workers';
export { hasJobs, signalAppReady } from './operations/signal-app';
export type { Signalled } from './operations/signal-app';
export { possiblyChargedTwiceCode } from '../job/search-attributes';
export { isWebAddress, workflowLink, workflowPath } from '../job/temporal-ui';
