import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { conversionBatchType } from '../shared/names';
import { isOpen } from '../shared/workflow-status';

/** What Temporal itself knows of a batch; needs no worker. */
export interface ListedBatch {
  name: string;
  runId: string;
  /** `RUNNING`, `PAUSED`, `COMPLETED`, `FAILED`, `CANCELLED`, `TERMINATED`, `TIMED_OUT` or `CONTINUED_AS_NEW`. */
  status: string;
  /** Start of the listed run. */
  startedAt: Date;
  endedAt?: Date;
}

/** Whether this batch is running; undefined when there is no such workflow, or when it is not a batch. */
export async function isBatchRunning(client: Client, name: string): Promise<boolean | undefined> {
  try {
    const description = await client.workflow.getHandle(name).describe();
    return description.type === conversionBatchType ? isOpen(description) : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** The latest batches; of one that continued as new, only the latest run. */
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
