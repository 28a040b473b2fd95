import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { conversionBatchType } from '../shared/names';
import { isOpen } from '../shared/workflow-status';

/** What Temporal tells of a batch, whether or not a worker is alive. */
export interface ListedBatch {
  name: string;
  runId: string;
  /** `RUNNING`, `PAUSED`, `COMPLETED`, `FAILED`, `CANCELED`, `TERMINATED`, `TIMED_OUT` or `CONTINUED_AS_NEW`. */
  status: string;
  /** Of its first run's start, where it is one of several. */
  startedAt: Date;
  endedAt?: Date;
}

/** Whether the batch of this name is under way; undefined when there is none, or when the workflow of this name is no batch. */
export async function isBatchRunning(client: Client, name: string): Promise<boolean | undefined> {
  try {
    const description = await client.workflow.getHandle(name).describe();
    return description.type === conversionBatchType ? isOpen(description) : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** The newest batches; of one that went on as new, its newest run. */
export async function listBatches(client: Client, limit: number): Promise<ListedBatch[]> {
  const query = `WorkflowType = '${conversionBatchType}' AND ExecutionStatus != 'ContinuedAsNew'`;
  const batches: ListedBatch[] = [];
  for await (const info of client.workflow.list({ query })) {
    const { workflowId: name, runId, status, startTime, closeTime } = info;
    batches.push({ name, runId, status: status.name, startedAt: startTime, ...(closeTime && { endedAt: closeTime }) });
    if (batches.length >= limit) break;
  }
  return batches;
}
