import type { Client } from '@temporalio/client';
import { recallJob } from '../../recall/recall-job';
import type { RecallJobResult } from '../../job/activities';
import { defined } from '../../job/defined';
import { retryOf } from '../../job/run-before';
import type { ConversionJobInput, Recall } from '../../job/types';
import type { FileStore } from '../../storage/file-store';
import type { JobInspection } from './inspect-job';

export interface RetryOptions {
  /** Converts even if an earlier submit may have been charged and has no task to fetch. */
  resubmit?: boolean | undefined;
  /** Converts again whatever earlier jobs did. */
  again?: boolean | undefined;
}

/** A planned new run of a job that has ended. */
export interface Retry {
  input: ConversionJobInput;
  /** The decision as of now; the run makes it again. */
  decision: RecallJobResult;
}

/**
 * Plans another run of a job: see docs/repetition.md. Without `resubmit`, nothing that may have been charged is converted again,
 * whatever the job's policy: an operator can check first.
 */
export async function planRetry(
  { client, files }: { client: Client; files: FileStore },
  { workflowId, runId, input: before }: Pick<JobInspection, 'workflowId' | 'runId' | 'input'>,
  { resubmit, again }: RetryOptions = {},
): Promise<Retry> {
  const recall: Recall = {
    ...retryOf(runId),
    ...(resubmit && { onUnknownOutcome: 'resubmit' }),
    ...(again && { again }),
  };
  const input = { ...alone(before), recall };
  const { app, source, output, parameters, destination } = input;
  const job = defined({ app, source, output, input: input.input, parameters, destination });
  return { input, decision: await recallJob({ client, files }, workflowId, { job, recall }) };
}

/** Removes the shared upload of a batch, and state left by earlier runs, which the new run reads from the last one. */
function alone(input: ConversionJobInput): ConversionJobInput {
  const request = { ...input };
  delete request.upload;
  delete request.announcesUpload;
  delete request.earlier;
  return request;
}
