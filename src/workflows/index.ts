/** To register these, add `export * from 'temporal-file-conversion/workflows'` to your own workflows file. */
export { conversionChildOptions, conversionSteps } from './own-workflows';
export type { JobActivities, StepOptions } from './job/job-activities';
export type {
  ActivityFailureDetails,
  CheckTaskInput,
  CheckTaskResult,
  ConversionActivities,
  ConvertFileInput,
  ConvertFileResult,
  DiscardDownloadInput,
  DownloadFileInput,
  DownloadFileResult,
  JobReaction,
  TaskReport,
  UploadFileInput,
  UploadFileResult,
} from '../shared/activities';
export { conversionWorkflowsVersion } from './version';
export { conversionJob } from './job/conversion-job';
export { conversionBatch } from './batch/conversion-batch';
export { conversionSweep } from './sweep/conversion-sweep';
