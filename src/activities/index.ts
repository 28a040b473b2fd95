import type { ConversionActivities } from '../shared/activities';
import { createCheckTask } from './check-task';
import { createConvertFile } from './convert-file';
import type { ActivityDependencies } from './dependencies';
import { createDiscardDownload } from './discard-download';
import { createDownloadFile } from './download-file';
import { createUploadFile } from './upload-file';

/** The activities of conversion jobs, by the names they have in a history. */
export function createActivities(dependencies: ActivityDependencies): ConversionActivities {
  return {
    'conversion.uploadFile': createUploadFile(dependencies),
    'conversion.convertFile': createConvertFile(dependencies),
    'conversion.checkTask': createCheckTask(dependencies),
    'conversion.downloadFile': createDownloadFile(dependencies),
    'conversion.discardDownload': createDiscardDownload(dependencies),
  };
}
