/** Names that Temporal stores: they are part of every history, so they never change. */

export const defaultTaskQueue = 'file-conversion';

export const conversionJobType = 'conversionJob';

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

/** Signal: vCredits were added; a parked job goes on at once. */
export const creditsRestoredSignal = 'creditsRestored';
