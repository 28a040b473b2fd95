/** Temporal stores these names in every history: they must never change. */

export const defaultTaskQueue = 'file-conversion';

/** The workers' deployment; Temporal distinguishes its versions by build id. */
export const defaultDeploymentName = 'file-conversion';

export const conversionJobType = 'conversionJob';

export const conversionBatchType = 'conversionBatch';

export const conversionSweepType = 'conversionSweep';

export const conversionNoticeType = 'conversionNotice';

export const conversionAppNoticeType = 'conversionAppNotice';

/** Sent by a worker to the `conversionAppNotice` of an app: a request was refused, or a waiting one was accepted. No argument. */
export const appRefusedSignal = 'appRefused';
export const appAcceptedSignal = 'appAccepted';

export const activityNames = {
  recallJob: 'conversion.recallJob',
  uploadFile: 'conversion.uploadFile',
  convertFile: 'conversion.convertFile',
  checkTask: 'conversion.checkTask',
  downloadFile: 'conversion.downloadFile',
  discardDownload: 'conversion.discardDownload',
} as const;

export const conversionStateQuery = 'conversionState';

/** The service has called back for one of the job's submits; the argument is a `CallbackArrival`. */
export const conversionCallbackSignal = 'conversionCallback';

/** The reason for which jobs of the app are parked is gone: they try again at once. The argument is an `AppReady`, or absent. */
export const appReadySignal = 'appReady';

export const batchStateQuery = 'batchState';

/**
 * The signals below and `appReady` are also Updates of the same names, which can refuse; a batch answers them with
 * its `BatchState`, a job with its `ConversionJobState`. A paused batch starts no job until it is resumed. */
export const batchPauseSignal = 'batchPause';
export const batchResumeSignal = 'batchResume';

/** Ends the batch, which starts no more jobs; the argument is a `BatchCancel`. */
export const batchCancelSignal = 'batchCancel';

/** From a job to its batch: the job has parked or resumed; the argument is an `ItemWaits`. */
export const conversionItemWaitsSignal = 'conversionItemWaits';

/** From a job to its batch: other rows can reuse its upload; the argument is an `ItemUploaded`. */
export const conversionItemUploadedSignal = 'conversionItemUploaded';

/** Type of the failure that refuses an Update before it becomes part of the history. */
export const updateRefused = 'UPDATE_REFUSED';

/** To a job whose start its batch can't confirm: makes Temporal run the job. It has no handler. */
export const wakeSignal = 'conversionWake';

/** Memo of a job whose parent is a batch, which expects `conversionItemWaits`. */
export const inBatchMemo = 'conversionInBatch';

/** Changes the maximum number of jobs in flight. */
export const batchWindowSignal = 'batchWindow';

/** Events that a listener can receive. */
export const noticeTypes = [
  'batch.ended',
  'batch.needs_attention',
  'app.parked',
  'app.resumed',
  'schedule.failed',
] as const;

export type NoticeType = (typeof noticeTypes)[number];
