import type { ConversionActivities } from '../shared/activities';
import type { BatchActivities } from '../shared/batch-activities';
import type { SweepActivities } from '../shared/sweep';
import { createAwaitJobs } from './await-jobs';
import {
  createMergeBatchResults,
  createReadBatchItems,
  createRereadBatchItems,
  createWriteBatchPart,
  createWriteBatchReport,
} from './batch-files';
import { createCheckTask } from './check-task';
import { createConvertFile } from './convert-file';
import type { ActivityDependencies } from './dependencies';
import { createDiscardDownload, createDownloadFile } from './download-file';
import { processPulse } from './process-pulse';
import { createDiscardBatchRun, createPlanBatch } from './sweep';
import { createUploadFile } from './upload-file';

/** The activities of conversion jobs, batches and sweeps, by their names in the history. */
export function createActivities(
  dependencies: ActivityDependencies,
): ConversionActivities & BatchActivities & SweepActivities {
  // Before the first attempt, whose task may already be as old as a suspension of this process.
  processPulse.start();
  return {
    'conversion.uploadFile': createUploadFile(dependencies),
    'conversion.convertFile': createConvertFile(dependencies),
    'conversion.checkTask': createCheckTask(dependencies),
    'conversion.downloadFile': createDownloadFile(dependencies),
    'conversion.discardDownload': createDiscardDownload(dependencies),
    'conversion.readBatchItems': createReadBatchItems(dependencies),
    'conversion.rereadBatchItems': createRereadBatchItems(dependencies),
    'conversion.writeBatchPart': createWriteBatchPart(dependencies),
    'conversion.mergeBatchResults': createMergeBatchResults(dependencies),
    'conversion.writeBatchReport': createWriteBatchReport(dependencies),
    'conversion.awaitJobs': createAwaitJobs(dependencies),
    'conversion.planBatch': createPlanBatch(dependencies),
    'conversion.discardBatchRun': createDiscardBatchRun(dependencies),
  };
}
