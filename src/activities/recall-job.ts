import { recallJob } from '../recall/recall-job';
import type { RecallJobInput, RecallJobResult } from '../shared/activities';
import { batchStep, type ActivityDependencies } from './activity-attempt';

/** Looks up what the last run of a job left, and decides what this one does. Idempotent. */
export function createRecallJob({ files }: Pick<ActivityDependencies, 'files'>) {
  return batchStep((input: RecallJobInput, { signal, workflowId }, client): Promise<RecallJobResult> =>
    recallJob({ client, files, signal }, workflowId, input),
  );
}
