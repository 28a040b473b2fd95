import type { Client, WorkflowClient, WorkflowExecutionDescription, WorkflowHandle } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { decodePayloads, withMessages } from './payloads';

/** As the SDK's, and the failures of pending activities can be read also where they are encrypted. */
export async function describeWorkflow(
  workflow: Pick<WorkflowHandle, 'describe' | 'client'>,
): Promise<WorkflowExecutionDescription> {
  const description = await workflow.describe();
  for (const activity of description.raw.pendingActivities ?? []) {
    if (!activity.lastFailure) continue;
    activity.lastFailure = await withMessages(workflow.client.options.loadedDataConverter, activity.lastFailure);
  }
  return description;
}

/** Undefined when Temporal knows no such workflow; its latest run when `runId` is absent. */
export async function findWorkflow(
  client: Client,
  workflowId: string,
  runId?: string,
): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await describeWorkflow(client.workflow.getHandle(workflowId, runId));
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
