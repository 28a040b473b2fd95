import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';

/** After the first workflow task, after the last one, before the start of the last child, or after this share of all tasks, below 1. */
export type ResetPoint = 'start' | 'latest' | 'lastChild' | number;

/** Resets a run of a workflow, by default the latest, like an operator. Returns the id of the new run. */
export async function resetWorkflow(
  client: Client,
  workflowId: string,
  to: ResetPoint,
  olderRun?: string,
): Promise<string> {
  const { runId } = await client.workflow.getHandle(workflowId, olderRun).describe();
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const tasks = (events ?? []).flatMap((event) => (event.workflowTaskCompletedEventAttributes ? [event.eventId] : []));
  const children = (events ?? []).flatMap((event) => event.startChildWorkflowExecutionInitiatedEventAttributes ?? []);
  const points = { start: tasks[0], latest: tasks.at(-1), lastChild: children.at(-1)?.workflowTaskCompletedEventId };
  const reset = await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId, runId },
    workflowTaskFinishEventId: (typeof to === 'number' ? tasks[Math.floor(to * tasks.length)] : points[to]) ?? null,
    requestId: randomUUID(),
    reason: 'a test',
  });
  return reset.runId;
}
