import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';

/** Behind the first workflow task, or behind the last one. */
export type ResetPoint = 'start' | 'latest';

/** Resets the latest run of a workflow, as an operator does; resolves to the id of the new run. */
export async function resetWorkflow(client: Client, workflowId: string, to: ResetPoint): Promise<string> {
  const { runId } = await client.workflow.getHandle(workflowId).describe();
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const tasks = (events ?? []).flatMap((event) => (event.workflowTaskCompletedEventAttributes ? [event.eventId] : []));
  const reset = await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId, runId },
    workflowTaskFinishEventId: (to === 'start' ? tasks[0] : tasks.at(-1)) ?? null,
    requestId: randomUUID(),
    reason: 'a test',
  });
  return reset.runId;
}
