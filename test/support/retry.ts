import type { Client } from '@temporalio/client';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { inspectJob } from '../../src/client/operations/inspect-job';
import { planRetry, type Retry, type RetryOptions } from '../../src/client/operations/retry-job';
import { createLocalFiles } from '../../src/storage/local-files';
import { Stores } from '../../src/storage/stores';

/** What `fileconv job retry` would do with a finished job: `keep`, `done`, `fetch` or `convert`. */
export async function decisionAbout(temporal: Client, workflowId: string, options?: RetryOptions): Promise<string> {
  const { decision } = await plan(temporal, workflowId, options);
  if (decision.kind !== 'start') return decision.kind;
  return decision.earlier?.taskId === undefined ? 'convert' : 'fetch';
}

/** Like `fileconv job retry`. @throws if nothing is started. */
export async function retryJob(
  temporal: Client,
  workflowId: string,
  options?: RetryOptions,
): Promise<ConversionHandle> {
  const job = await inspectJob(temporal, workflowId);
  const retry = await plan(temporal, workflowId, options);
  if (retry.decision.kind !== 'start') throw new Error(`the plan is to ${retry.decision.kind}`);
  return new FileConversionClient({ client: temporal, taskQueue: job.taskQueue }).retry(job, retry);
}

async function plan(client: Client, workflowId: string, options?: RetryOptions): Promise<Retry> {
  const files = new Stores({ file: createLocalFiles() });
  return planRetry({ client, files }, await inspectJob(client, workflowId), options);
}
