/** For programs that start conversions but run none; needs no worker package. */
export { FileConversionClient, JobRunningError } from './file-conversion-client';
export type { FileConversionClientOptions, JobStartOptions } from './file-conversion-client';
export type { BatchStartOptions, StartOptions } from './start-options';
export type { StoresByScheme } from '../storage/stores';
export { ConversionFailedError, ConversionHandle } from './conversion-handle';
export { BatchFailedError, BatchHandle, BatchRunningError } from './batch-handle';
export type { BatchRequest } from './batch-request';
export type { Finding, FindingList } from '../batch/plan/findings';
export type { PlannedBatch } from '../batch/plan/planned-batch';
export type { BatchReport } from '../batch/report/report';
export { NoSuchScheduleError, ScheduleTakenError, SweepSchedules } from './sweep-schedules';
export type { ListedSweepSchedule, SweepOverlap, SweepScheduleRequest, SweepTimes } from './sweep-schedules';
export { InvalidRequestError } from './job-request';
export type { ConversionRequest } from './job-request';
export { createEncryptedDataConverter } from '../encryption/data-converter';
export { EncryptionKeyError } from '../encryption/encryption-codec';
export type {
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
  SourceContent,
} from '../shared/job';
export type {
  BatchCancel,
  BatchCounts,
  BatchItem,
  BatchItemResult,
  BatchItemStatus,
  BatchPlan,
  BatchState,
  BatchStatus,
  ConversionBatchInput,
  ConversionBatchResult,
  ConversionSweepInput,
  ConversionSweepResult,
  InlineItem,
  PlannedRows,
} from '../shared/batch';
export { defaultTaskQueue } from '../shared/names';
