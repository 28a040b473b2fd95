/** Names that Temporal stores in every history: they never change. */

export const defaultTaskQueue = 'file-conversion';

/** The workers' deployment; Temporal tells its versions apart by build id. */
export const defaultDeploymentName = 'file-conversion';

export const conversionJobType = 'conversionJob';

export const conversionBatchType = 'conversionBatch';

export const conversionSweepType = 'conversionSweep';

export const conversionNoticeType = 'conversionNotice';

export const conversionAppNoticeType = 'conversionAppNotice';

/** From a worker to the `conversionAppNotice` of an app: a request was refused, or one that waited was accepted. No argument. */
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

/** What parked jobs of the app wait for is done: they try again at once. The argument is an `AppReady`, or none. */
export const appReadySignal = 'appReady';

export const batchStateQuery = 'batchState';

/**
 * The signals below and `appReady` are also Updates of the same names, which can refuse; a batch answers them with
 * its `BatchState`, a job with its `ConversionJobState`. A paused batch starts no job until it is resumed. */
export const batchPauseSignal = 'batchPause';
export const batchResumeSignal = 'batchResume';

/** Starts no more jobs, and ends the batch; the argument is a `BatchCancel`. */
export const batchCancelSignal = 'batchCancel';

/** From a job to its batch: it is parked, or no longer is; the argument is an `ItemWaits`. */
export const conversionItemWaitsSignal = 'conversionItemWaits';

/** From a job to its batch: other rows can convert from its upload; the argument is an `ItemUploaded`. */
export const conversionItemUploadedSignal = 'conversionItemUploaded';

/** Type of the failure with which an Update is refused, before it becomes part of the history. */
export const updateRefused = 'UPDATE_REFUSED';

/** To a job whose start its batch does not see: it only makes Temporal run the job. Nothing handles it. */
export const wakeSignal = 'conversionWake';

/** Memo of a job whose parent is a batch, which expects `conversionItemWaits`. */
export const inBatchMemo = 'conversionInBatch';

/** Changes the maximum number of jobs in flight. */
export const batchWindowSignal = 'batchWindow';

/** What a listener can be told of. */
export const noticeTypes = [
  'batch.ended',
  'batch.needs_attention',
  'app.parked',
  'app.resumed',
  'schedule.failed',
] as const;

export type NoticeType = (typeof noticeTypes)[number];
