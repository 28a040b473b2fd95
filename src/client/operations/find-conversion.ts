import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow';
import type { ConversionBatchInput } from '../../shared/batch';
import type { ConversionJobInput } from '../../shared/job';
import { isOpen } from '../../shared/job-outcome';
import { conversionBatchType, conversionJobType } from '../../shared/names';

/** What runs or ran under a workflow id, and what it was started with. */
export type FoundWorkflow = { workflowId: string; runId: string; open: boolean } & (
  { kind: 'job'; input: ConversionJobInput } | { kind: 'batch'; input: ConversionBatchInput } | { kind: 'other' }
);

/** The latest run under this id, from its first event: also of jobs without search attributes. Undefined: there is none. */
export async function findConversion(client: Client, workflowId: string): Promise<FoundWorkflow | undefined> {
  try {
    const description = await client.workflow.getHandle(workflowId).describe();
    const { runId, type } = description;
    const found = { workflowId, runId, open: isOpen(description) };
    if (type === conversionJobType) return { ...found, kind: 'job', input: await inputOf(client, found) };
    if (type === conversionBatchType) return { ...found, kind: 'batch', input: await inputOf(client, found) };
    return { ...found, kind: 'other' };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

async function inputOf<T>(client: Client, execution: { workflowId: string; runId: string }): Promise<T> {
  const { namespace, loadedDataConverter } = client.options;
  const { workflowId, runId } = execution;
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  const payloads = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads;
  const [input] = await decodeArrayFromPayloads(loadedDataConverter, payloads);
  return input as T;
}
