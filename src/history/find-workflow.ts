import type { Client, WorkflowClient, WorkflowExecutionDescription } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { decodePayloads } from './payloads';

/** Undefined when Temporal knows no such workflow; its latest run when `runId` is absent. */
export async function findWorkflow(
  client: Client,
  workflowId: string,
  runId?: string,
): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.workflow.getHandle(workflowId, runId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** A reset and a continue-as-new keep it; a later workflow under the same id has another. */
export function firstRunOf({ raw }: WorkflowExecutionDescription): string | undefined {
  return raw.workflowExecutionInfo?.firstRunId ?? undefined;
}

/** The first argument that a workflow was started with. */
export async function readStartInput(
  { options, workflowService }: Pick<WorkflowClient, 'options' | 'workflowService'>,
  { workflowId, runId }: { workflowId: string; runId?: string | undefined },
): Promise<unknown> {
  const { namespace, loadedDataConverter } = options;
  const { history } = await workflowService.getWorkflowExecutionHistory({
    namespace,
    execution: { workflowId, ...(runId !== undefined && { runId }) },
    maximumPageSize: 1,
  });
  const payloads = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads;
  return (await decodePayloads(loadedDataConverter, payloads))[0];
}
