/** Names that Temporal stores: they are part of every history, so they never change. */

export const defaultTaskQueue = 'file-conversion';

/** Of the workers as one deployment, whose versions Temporal knows apart by their build ids. */
export const defaultDeploymentName = 'file-conversion';

export const conversionJobType = 'conversionJob';

export const conversionBatchType = 'conversionBatch';

export const conversionSweepType = 'conversionSweep';

export const activityNames = {
  uploadFile: 'conversion.uploadFile',
  convertFile: 'conversion.convertFile',
  checkTask: 'conversion.checkTask',
  downloadFile: 'conversion.downloadFile',
  discardDownload: 'conversion.discardDownload',
} as const;

export const conversionStateQuery = 'conversionState';

/** Signal: the service has called back for one of the job's submits; its argument is a `CallbackArrival`. */
export const conversionCallbackSignal = 'conversionCallback';

/** Signal: vCredits were added; a parked job goes on at once. Its argument is a `CreditsWord`, or none. */
export const creditsRestoredSignal = 'creditsRestored';

export const batchStateQuery = 'batchState';

/** Signals of a batch: no job is started until it is resumed. */
export const batchPauseSignal = 'batchPause';
export const batchResumeSignal = 'batchResume';

/** Signal: no more jobs are started, and the batch ends; its argument is a `BatchCancel`. */
export const batchCancelSignal = 'batchCancel';

/** Signal of a job in flight to its batch: it waits for a person, or no longer does; its argument is an `ItemWaits`. */
export const conversionItemWaitsSignal = 'conversionItemWaits';

/** Memo of a job: it is one of a batch, its parent, which wants to hear that it waits. */
export const inBatchMemo = 'conversionInBatch';

/** Signal: from now on so many jobs at a time. */
export const batchWindowSignal = 'batchWindow';
