/** What a Node program imports: the client that starts jobs and the plugin that runs them. */
export { FileConversionClient } from './client/file-conversion-client';
export type { FileConversionClientOptions, StartOptions } from './client/file-conversion-client';
export { ConversionFailedError, ConversionHandle } from './client/conversion-handle';
export { BatchFailedError, BatchHandle, BatchRunningError } from './client/batch-handle';
export type { BatchRequest } from './client/batch-request';
export { NoSuchScheduleError, ScheduleTakenError, SweepSchedules } from './client/sweep-schedules';
export type { ListedSweepSchedule } from './client/sweep-schedules';
export type { SweepOverlap, SweepScheduleRequest, SweepTimes } from './client/sweep-request';
export { InvalidRequestError } from './client/job-request';
export type { ConversionRequest } from './client/job-request';
export { createEncryptedDataConverter } from './encryption/data-converter';
export { EncryptionKeyError } from './encryption/encryption-keys';
export { FileConversionPlugin } from './plugin';
export type { AppProfile, CallbackSettings, FileConversionPluginOptions } from './plugin';
export type { ApiTimeouts } from './api/conversion-api';
export type { RequestTracer } from './api/request-spans';
export { StorageError } from './storage/errors';
export type { StorageErrorCode } from './storage/errors';
export type { DestinationPlan, FileStore, SourceFile, StoredFile, WriteDestinationOptions } from './storage/file-store';
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
} from './shared/job';
export type {
  BatchCancel,
  BatchCounts,
  BatchItem,
  BatchItemResult,
  BatchItemStatus,
  BatchState,
  BatchStatus,
  ConversionBatchInput,
  ConversionBatchResult,
} from './shared/batch';
export type { ConversionSweepInput, ConversionSweepResult, SweepCounts, SweepPlan } from './shared/sweep';
export { defaultTaskQueue } from './shared/names';
