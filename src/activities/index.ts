import { readBatchItems, rereadBatchItems, writeBatchPart } from '../batch/batch-steps';
import { endRun } from '../batch/end-run';
import { sendNotice } from '../notices/send-notice';
import { recallJob } from '../recall/recall-job';
import { resultUri } from '../batch/uris';
import type { ConversionActivities } from '../job/activities';
import type { BatchActivities } from '../batch/model/activities';
import type { NoticeActivities } from '../batch/model/notices';
import { processPulse } from './acknowledged-heartbeat';
import { batchStep, type ActivityDependencies } from './activity-attempt';
import { createAwaitJobs } from './await-jobs';
import { createCheckTask } from './check-task';
import { createConvertFile } from './convert-file';
import { createDiscardDownload, createDownloadFile } from './download-file';
import { isUnsent } from './is-unsent';
import { createPlanBatch, workerSettings } from './plan-batch';
import { createUploadFile } from './upload-file';
import { createWriteRunningPage } from './write-running-page';

/** The activities of conversion jobs, batches and sweeps, by their names in the history. */
export function createActivities(
  dependencies: ActivityDependencies,
): ConversionActivities & BatchActivities & NoticeActivities {
  const { files, notify = {} } = dependencies;
  // Before the first attempt: its task may already be older than a suspension of this process.
  processPulse.start();
  return {
    'conversion.recallJob': batchStep((input, { signal, workflowId }, client) =>
      recallJob({ client, files, signal }, workflowId, input),
    ),
    'conversion.uploadFile': createUploadFile(dependencies),
    'conversion.convertFile': createConvertFile(dependencies),
    'conversion.isUnsent': isUnsent,
    'conversion.checkTask': createCheckTask(dependencies),
    'conversion.downloadFile': createDownloadFile(dependencies),
    'conversion.discardDownload': createDiscardDownload(dependencies),
    // All activities of batches and sweeps are idempotent: a repeated write replaces the earlier one.
    'conversion.workerSettings': batchStep(({ job }, _step, client) =>
      Promise.resolve({ ...workerSettings(client, notify), ...(job && { resultUri: resultUri(job) }) }),
    ),
    'conversion.readBatchItems': batchStep((input, { signal }) => readBatchItems(files, input, signal)),
    'conversion.rereadBatchItems': batchStep((input, { signal }) => rereadBatchItems(files, input, signal)),
    'conversion.writeBatchPart': batchStep((input, step) => writeBatchPart(files, input, step)),
    'conversion.writeRunningPage': createWriteRunningPage(files),
    'conversion.endRun': batchStep((input, step) => endRun(files, input, step)),
    'conversion.awaitJobs': createAwaitJobs(dependencies),
    'conversion.planBatch': createPlanBatch(dependencies),
    'conversion.sendNotice': batchStep((notice, { signal }) => sendNotice(notice, notify, signal)),
  };
}
