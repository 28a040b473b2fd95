import {
  Client,
  type WorkflowClient,
  type WorkflowExecutionDescription,
  type WorkflowHandle,
} from '@temporalio/client';
import { defaultPayloadConverter, type Payload, WorkflowNotFoundError } from '@temporalio/common';
import { isOfServer } from './grpc';
import { decodePayloads, withMessages } from './payloads';

/** Like the SDK's `describe`, but also decodes failures of pending activities. */
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

/** Undefined if Temporal knows no such workflow. Without `runId`, the latest run. A memo that can't be decoded is null. */
export async function findWorkflow(
  client: Client,
  workflowId: string,
  runId?: string,
): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await describeWorkflow(client.workflow.getHandle(workflowId, runId));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    if (isOfServer(error)) throw error;
    return lenient(client).workflow.getHandle(workflowId, runId).describe();
  }
}

/** A client that decodes unreadable payloads to null. With the SDK's own, one such payload makes a whole list or description fail. */
export function lenient({ connection, options: { namespace, loadedDataConverter } }: Client): Client {
  const read = async (payload: Payload) => {
    const [value] = await decodePayloads(loadedDataConverter, [payload]).catch(() => [null]);
    return defaultPayloadConverter.toPayload(value);
  };
  const codec = {
    encode: (payloads: Payload[]) => Promise.resolve(payloads),
    decode: (payloads: Payload[]) => Promise.all(payloads.map(read)),
  };
  return new Client({ connection, namespace, dataConverter: { payloadCodecs: [codec] } });
}

/** Stays the same after a reset or continue-as-new; a later workflow under the same id has another. */
export function firstRunOf({ raw }: WorkflowExecutionDescription): string | undefined {
  return raw.workflowExecutionInfo?.firstRunId ?? undefined;
}

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
