import type { Client } from '@temporalio/client';
import { recallJob } from '../../recall/recall-job';
import type { RecallJobResult } from '../../job/activities';
import { defined } from '../../job/defined';
import type { ConversionJobInput, Recall } from '../../job/types';
import type { FileStore } from '../../storage/file-store';
import type { JobInspection } from './inspect-job';

export interface RetryOptions {
  /** Convert also where an earlier submit may have been charged and nothing can be fetched. */
  resubmit?: boolean | undefined;
  /** Convert whatever was done before. */
  again?: boolean | undefined;
}

/** A new run of a job that has ended. */
export interface Retry {
  input: ConversionJobInput;
  /** What its last run decides: the run looks it up again, and does that. */
  decision: RecallJobResult;
}

/**
 * What another run of a job would do; see docs/repetition.md. Without `resubmit`, nothing that may have been charged is
 * converted again, whatever the job's policy: an operator can check first.
 */
export async function planRetry(
  { client, files }: { client: Client; files: FileStore },
  { workflowId, runId, input: before }: Pick<JobInspection, 'workflowId' | 'runId' | 'input'>,
  { resubmit, again }: RetryOptions = {},
): Promise<Retry> {
  const recall: Recall = {
    runId,
    onUnknownOutcome: resubmit ? 'resubmit' : 'fail',
    isSingle: true,
    isRetry: true,
    ...(again && { again }),
  };
  const input = { ...alone(before), recall };
  const { app, source, output, parameters, destination } = input;
  const job = defined({ app, source, output, input: input.input, parameters, destination });
  return { input, decision: await recallJob({ client, files }, workflowId, { job, recall }) };
}

/** A job of a batch may share its upload with others; alone it uploads. What was left beside the destination is of the run that has ended. */
function alone(input: ConversionJobInput): ConversionJobInput {
  const request = { ...input };
  delete request.upload;
  delete request.tellsUpload;
  delete request.earlier;
  return request;
}
