import type { Client } from '@temporalio/client';
import { conversionJobType } from '../../shared/names';
import { searchAttributes, type ListedStatus } from '../../shared/search-attributes';
import { quoted, SearchAttributesMissingError, toJobQuery, type JobFilter } from './job-query';
import { readListing, type ListedJob } from './list-jobs';
import { presentSearchAttributes } from './search-attributes';

export type CountedBy = 'status' | 'code' | 'app' | 'batch';

/** Jobs that share one value. */
export interface JobGroup {
  /** Absent: jobs without a value, for example those of no batch. */
  value?: string;
  jobs: number;
  /** Sum over the jobs whose cost is known, which are those that succeeded. */
  vcredits: number;
  possiblyChargedTwice: number;
  /** Workflow id of the newest of these jobs. */
  newest: string;
}

export interface JobCounts {
  /** Largest first. */
  groups: JobGroup[];
  total: number;
}

const pageSize = 1_000;
const attributeOf = { code: searchAttributes.errorCode, app: searchAttributes.app, batch: searchAttributes.batchId };

/**
 * Counts jobs and their cost by group, from the whole list, 1,000 jobs per page: the server can only group by its own
 * statuses. Without the search attributes, only `status` works.
 * @throws SearchAttributesMissingError
 */
export async function countJobs(client: Client, filter: JobFilter, by: CountedBy): Promise<JobCounts> {
  const present = await presentSearchAttributes(client);
  if (by !== 'status' && !present.has(attributeOf[by].name)) throw new SearchAttributesMissingError([by]);
  const query = toJobQuery(filter, present);
  const groups = new Map<string | undefined, JobGroup>();
  let total = 0;
  for await (const info of client.workflow.list({ query, pageSize })) {
    const job = readListing(info);
    // A job ended by Temporal cannot report a code.
    const isEnded = by === 'code' && ['TERMINATED', 'TIMED_OUT'].includes(info.status.name);
    add(groups, job[by] ?? (isEnded ? info.status.name : undefined), job);
    total += 1;
  }
  return { groups: [...groups.values()].sort((one, other) => other.jobs - one.jobs), total };
}

function add(groups: Map<string | undefined, JobGroup>, value: string | undefined, job: ListedJob): void {
  const group = groups.get(value) ?? {
    ...(value !== undefined && { value }),
    jobs: 0,
    vcredits: 0,
    possiblyChargedTwice: 0,
    newest: job.workflowId,
  };
  group.jobs += 1;
  group.vcredits += job.vcredits ?? 0;
  group.possiblyChargedTwice += job.possiblyChargedTwice ? 1 : 0;
  groups.set(value, group);
}

export const openStatuses = ['running', 'awaitingCredits'] as const satisfies readonly ListedStatus[];

/** Open jobs of an app and task queue, by listed status. Rejects without search attributes, or without Temporal. */
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
