import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { findWorkflow, lenient } from '../../history/find-workflow';
import { decodePayloads } from '../../history/payloads';
import { defined } from '../../job/defined';
import { conversionJobType } from '../../job/names';
import { possiblyChargedTwiceCode, quoted, searchAttributes, type ListedStatus } from '../../job/search-attributes';
import { jobsOfBatch } from '../../job/temporal-ui';
import { readPendingStep } from './job-waiting';
import { hasSearchAttributes } from './search-attributes';

export interface JobFilter {
  status?: ListedStatus | undefined;
  app?: string | undefined;
  /** Error code, whether or not the job is marked `POSSIBLY_CHARGED_TWICE`; that value itself finds all marked jobs. */
  code?: string | undefined;
  batch?: string | undefined;
  tag?: string | undefined;
  /** Jobs that started or ended since then. */
  since?: Date | undefined;
}

/** A filter needs a search attribute that the namespace lacks. */
export class SearchAttributesMissingError extends Error {
  override readonly name = 'SearchAttributesMissingError';
  constructor(readonly filters: readonly string[]) {
    super(`the namespace has no search attributes to list jobs by ${filters.join(', ')}`);
  }
}

const executionStatus: Readonly<Record<ListedStatus, string>> = {
  running: "ExecutionStatus = 'Running'",
  parked: "ExecutionStatus = 'Running'",
  completed: "ExecutionStatus = 'Completed'",
  failed: "ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut')",
  cancelled: "ExecutionStatus = 'Canceled'",
};

/** `isListed`: the namespace has the search attributes. @throws SearchAttributesMissingError */
function toJobQuery({ status, app, code, batch, tag, since }: JobFilter, isListed: boolean): string {
  const names = searchAttributes;
  const needed = Object.entries({ app, code, tag, 'status parked': status === 'parked' ? status : undefined });
  const missing = needed.flatMap(([filter, value]) => (value === undefined ? [] : [filter]));
  if (!isListed && missing.length > 0) throw new SearchAttributesMissingError(missing);
  const conditions = [`WorkflowType = '${conversionJobType}'`];
  if (status !== undefined) conditions.push(executionStatus[status]);
  if (status === 'parked') conditions.push(`${names.status.name} = 'parked'`);
  if (status === 'running' && isListed) {
    conditions.push(`(${names.status.name} != 'parked' OR ${names.status.name} IS NULL)`);
  }
  if (app !== undefined) conditions.push(`${names.app.name} = ${quoted(app)}`);
  if (code === possiblyChargedTwiceCode) {
    conditions.push(`${names.errorCode.name} STARTS_WITH '${possiblyChargedTwiceCode}'`);
  } else if (code !== undefined) {
    const codes = [code, `${possiblyChargedTwiceCode}+${code}`].map(quoted);
    conditions.push(`${names.errorCode.name} IN (${codes.join(', ')})`);
  }
  if (batch !== undefined) {
    const started = jobsOfBatch(batch);
    conditions.push(isListed ? `(${names.batchId.name} = ${quoted(batch)} OR ${started})` : started);
  }
  if (tag !== undefined) conditions.push(`${names.tags.name} = ${quoted(tag)}`);
  if (since !== undefined) {
    const time = `'${since.toISOString()}'`;
    conditions.push(`(StartTime >= ${time} OR CloseTime >= ${time})`);
  }
  return conditions.join(' AND ');
}

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
  /** Why names of some of these jobs can't be read, for example for lack of a key. Their summaries only show the formats. */
  unreadable?: string;
}

const describedAtATime = 20;

/**
 * The newest jobs that match the filter. Without the search attributes, only these filters work: `status` except `parked`, `batch`
 * (jobs that it started) and `since`.
 * @throws SearchAttributesMissingError; the decoding error if no job's payload can be read
 */
export async function listJobs(client: Client, filter: JobFilter, limit: number): Promise<JobList> {
  const isListed = await hasSearchAttributes(client);
  const query = toJobQuery(filter, isListed);
  const { count } = await client.workflow.count(query);
  const found: WorkflowExecutionInfo[] = [];
  for await (const info of lenient(client).workflow.list({ query, pageSize: Math.min(limit, 1_000) })) {
    if (found.push(info) >= limit) break;
  }
  const jobs: ListedJob[] = [];
  const problems: Error[] = [];
  for (let first = 0; first < found.length; first += describedAtATime) {
    const page = found.slice(first, first + describedAtATime);
    jobs.push(...(await Promise.all(page.map((info) => describeListed(client, info, problems)))));
  }
  const [problem] = problems;
  if (problem !== undefined && problems.length === jobs.length) throw problem;
  return {
    jobs,
    total: Math.max(count, jobs.length),
    query,
    hasSearchAttributes: isListed,
    ...(problem !== undefined && { unreadable: problem.message }),
  };
}

/** Adds details from the job's own description that visibility lacks. */
async function describeListed(client: Client, info: WorkflowExecutionInfo, problems: Error[]): Promise<ListedJob> {
  const job = readListing(info);
  // Visibility may still list a deleted job.
  const description = await findWorkflow(client, job.workflowId, job.runId);
  const stored = description?.raw.executionConfig?.userMetadata?.summary;
  const [summary] = await decodePayloads(client.options.loadedDataConverter, stored && [stored]).catch(
    (error: unknown) => {
      problems.push(error instanceof Error ? error : new Error(String(error)));
      return [];
    },
  );
  const step = description && readPendingStep(description)?.step;
  return {
    ...job,
    ...(job.status === 'running' && { step: step ?? 'waiting' }),
    ...(typeof summary === 'string' && { summary }),
  };
}

/** The part of a job that visibility contains. */
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

function statusOf({ status: { name }, typedSearchAttributes }: WorkflowExecutionInfo): ListedStatus {
  if (name === 'RUNNING' || name === 'PAUSED') {
    return typedSearchAttributes.get(searchAttributes.status) === 'parked' ? 'parked' : 'running';
  }
  return name === 'COMPLETED' ? 'completed' : name === 'CANCELLED' ? 'cancelled' : 'failed';
}

export const openStatuses = ['running', 'parked'] as const satisfies readonly ListedStatus[];

/** Counts open jobs of an app and task queue, by listed status. Rejects without search attributes, or if Temporal is unreachable. */
export async function countOpenJobs(
  client: Client,
  { app, taskQueue }: { app: string; taskQueue: string },
): Promise<Record<(typeof openStatuses)[number], number>> {
  const count = async (status: ListedStatus) => {
    const ofQueue = `WorkflowType = '${conversionJobType}' AND TaskQueue = ${quoted(taskQueue)} AND ExecutionStatus = 'Running'`;
    const ofApp = `${searchAttributes.app.name} = ${quoted(app)} AND ${searchAttributes.status.name} = '${status}'`;
    return (await client.workflow.count(`${ofQueue} AND ${ofApp}`)).count;
  };
  const [running, parked] = await Promise.all([count('running'), count('parked')]);
  return { running, parked };
}
