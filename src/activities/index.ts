import type { ConversionActivities } from '../shared/activities';
import type { BatchActivities } from '../shared/batch-activities';
import { createAwaitJobs } from './await-jobs';
import { createCheckTask } from './check-task';
import { createConvertFile } from './convert-file';
import type { ActivityDependencies } from './dependencies';
import { createDiscardDownload } from './discard-download';
import { createDownloadFile } from './download-file';
import { createMergeBatchResults } from './merge-batch-results';
import { createReadBatchItems } from './read-batch-items';
import { createUploadFile } from './upload-file';
import { createWriteBatchPart } from './write-batch-part';

/** The activities of conversion jobs and batches, by the names they have in a history. */
export function createActivities(dependencies: ActivityDependencies): ConversionActivities & BatchActivities {
  return {
    'conversion.uploadFile': createUploadFile(dependencies),
    'conversion.convertFile': createConvertFile(dependencies),
    'conversion.checkTask': createCheckTask(dependencies),
    'conversion.downloadFile': createDownloadFile(dependencies),
    'conversion.discardDownload': createDiscardDownload(dependencies),
    'conversion.readBatchItems': createReadBatchItems(),
    'conversion.writeBatchPart': createWriteBatchPart(),
    'conversion.mergeBatchResults': createMergeBatchResults(),
    'conversion.awaitJobs': createAwaitJobs(),
  };
}
