import type { WorkflowClient } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow';

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
  return (await decodeArrayFromPayloads(loadedDataConverter, payloads))[0];
}
