import type { Client } from '@temporalio/client';
import { conversionJobType } from '../shared/names';
import type { ListedStatus } from '../shared/search-attributes';
import { searchAttributes } from '../shared/search-attributes';
import { quoted } from './visibility-query';

/** What a job that is not over can be listed as. */
export const openStatuses = ['running', 'awaitingCredits'] as const satisfies readonly ListedStatus[];

/**
 * How many jobs of an app on a task queue are not over, by what they are listed as.
 *
 * Needs the search attributes in the namespace (`fileconv namespace init`); rejects without them, and when Temporal can't be reached.
 */
export async function countOpenJobs(
  client: Client,
  { app, taskQueue }: { app: string; taskQueue: string },
): Promise<Record<(typeof openStatuses)[number], number>> {
  const count = async (status: ListedStatus) => {
    const conditions = [
      `WorkflowType = ${quoted(conversionJobType)}`,
      `TaskQueue = ${quoted(taskQueue)}`,
      `ExecutionStatus = 'Running'`,
      `${searchAttributes.app.name} = ${quoted(app)}`,
      `${searchAttributes.status.name} = ${quoted(status)}`,
    ];
    return (await client.workflow.count(conditions.join(' AND '))).count;
  };
  const [running, awaitingCredits] = await Promise.all([count('running'), count('awaitingCredits')]);
  return { running, awaitingCredits };
}
