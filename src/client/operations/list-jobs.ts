import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { defined } from '../../shared/defined';
import {
  possiblyChargedTwiceCode,
  searchAttributeNames,
  searchAttributes,
  type ListedStatus,
} from '../../shared/search-attributes';
import { toJobQuery, type JobFilter } from './job-query';
import { readPendingStep } from './job-waiting';
import { presentSearchAttributes } from './search-attributes';

export interface ListedJob {
  workflowId: string;
  runId: string;
  status: ListedStatus;
  /** Current step of a running job: `uploading`, `submitting`, `converting`, `downloading`, or `waiting`. */
  step?: string;
  /** `report.md → pdf` */
  summary: string;
  /** End of the job, or its start while it runs. */
  since: Date;
  startedAt: Date;
  app?: string;
  batch?: string;
  tags?: string[];
  code?: string;
  possiblyChargedTwice: boolean;
  vcredits?: number;
  taskId?: string;
}

export interface JobList {
  jobs: ListedJob[];
  /** Number of all jobs that match the filter. */
  total: number;
  query: string;
  /** Whether the namespace has all search attributes; without them, code and vCredits may be missing. */
  hasSearchAttributes: boolean;
}

const describedAtATime = 20;

/**
 * The newest jobs that match the filter. Without the search attributes, only these filters work: `status` except
 * `awaitingCredits`, `batch` (by job ids) and `since`.
 * @throws SearchAttributesMissingError
 */
export async function listJobs(client: Client, filter: JobFilter, limit: number): Promise<JobList> {
  const present = await presentSearchAttributes(client);
  const query = toJobQuery(filter, present);
  const { count } = await client.workflow.count(query);
  const found: WorkflowExecutionInfo[] = [];
  for await (const info of client.workflow.list({ query, pageSize: Math.min(limit, 1_000) })) {
    if (found.push(info) >= limit) break;
  }
  const jobs: ListedJob[] = [];
  for (let first = 0; first < found.length; first += describedAtATime) {
    const page = found.slice(first, first + describedAtATime);
    jobs.push(...(await Promise.all(page.map((info) => describeListed(client, info)))));
  }
  return {
    jobs,
    total: Math.max(count, jobs.length),
    query,
    hasSearchAttributes: present.size === searchAttributeNames.length,
  };
}

/** Adds what visibility lacks from the job's own description. */
async function describeListed(client: Client, info: WorkflowExecutionInfo): Promise<ListedJob> {
  const job = readListing(info);
  const described = await describe(client, job);
  return {
    ...job,
    ...(job.status === 'running' && { step: described?.step ?? 'waiting' }),
    ...(described?.summary !== undefined && { summary: described.summary }),
  };
}

/** The part of a job that visibility holds. */
export function readListing(info: WorkflowExecutionInfo): ListedJob {
  const { workflowId, runId, typedSearchAttributes: attributes } = info;
  const input = attributes.get(searchAttributes.inputFormat);
  const [first, second] = (attributes.get(searchAttributes.errorCode) ?? '').split('+');
  const isTwice = first === possiblyChargedTwiceCode;
  const code = isTwice ? second : first;
  return defined({
    workflowId,
    runId,
    status: statusOf(info),
    summary: `${input ?? '?'} → ${attributes.get(searchAttributes.outputFormat) ?? '?'}`,
    since: info.closeTime ?? info.startTime,
    startedAt: info.startTime,
    app: attributes.get(searchAttributes.app),
    batch: attributes.get(searchAttributes.batchId),
    tags: attributes.get(searchAttributes.tags),
    ...(code && { code }),
    possiblyChargedTwice: isTwice,
    vcredits: attributes.get(searchAttributes.vcredits),
    taskId: attributes.get(searchAttributes.taskId),
  });
}

async function describe(client: Client, { workflowId, runId }: { workflowId: string; runId: string }) {
  try {
    const description = await client.workflow.getHandle(workflowId, runId).describe();
    return { summary: await description.staticSummary(), step: readPendingStep(description)?.step };
  } catch (error) {
    // Visibility may still list a deleted job.
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

function statusOf({ status, typedSearchAttributes }: WorkflowExecutionInfo): ListedStatus {
  switch (status.name) {
    case 'RUNNING':
    case 'PAUSED':
      return typedSearchAttributes.get(searchAttributes.status) === 'awaitingCredits' ? 'awaitingCredits' : 'running';
    case 'COMPLETED':
      return 'completed';
    case 'CANCELLED':
      return 'cancelled';
    default:
      return 'failed';
  }
}
