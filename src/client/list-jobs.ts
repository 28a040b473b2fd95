import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { conversionJobType } from '../shared/names';
import type { ListedStatus } from '../shared/search-attributes';
import { possiblyChargedTwiceCode, searchAttributes } from '../shared/search-attributes';
import { readPendingStep } from './pending-step';
import { hasSearchAttributes } from './search-attribute-support';
import { quoted } from './visibility-query';

export interface JobFilter {
  status?: ListedStatus | undefined;
  app?: string | undefined;
  /** The error code, whether or not the job may have been charged twice; `POSSIBLY_CHARGED_TWICE` finds all that may. */
  code?: string | undefined;
  batch?: string | undefined;
  /** Started or ended since then. */
  since?: Date | undefined;
}

/** One job of a list. */
export interface ListedJob {
  workflowId: string;
  runId: string;
  status: ListedStatus;
  /** What a running job does now: `uploading`, `submitting`, `converting`, `downloading`, or `waiting`. */
  step?: string;
  /** `report.md → pdf` */
  summary: string;
  /** When it ended, else when it started. */
  since: Date;
  startedAt: Date;
  app?: string;
  batch?: string;
  code?: string;
  possiblyChargedTwice: boolean;
  vcredits?: number;
  taskId?: string;
}

export interface JobList {
  jobs: ListedJob[];
  /** All that fit the filter. */
  total: number;
  query: string;
  /** Whether the namespace has the search attributes; without them there is neither code nor vCredits. */
  hasSearchAttributes: boolean;
}

/** A filter asks for what the namespace has no search attributes for. */
export class SearchAttributesMissingError extends Error {
  override readonly name = 'SearchAttributesMissingError';
  constructor(readonly filters: readonly string[]) {
    super(`the namespace has no search attributes to list jobs by ${filters.join(', ')}`);
  }
}

const describedAtATime = 20;
const executionStatus: Readonly<Record<ListedStatus, string>> = {
  running: "ExecutionStatus = 'Running'",
  awaitingCredits: "ExecutionStatus = 'Running'",
  completed: "ExecutionStatus = 'Completed'",
  failed: "ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut')",
  cancelled: "ExecutionStatus = 'Canceled'",
};

/**
 * The newest jobs that fit the filter. Without the search attributes what still works is: `status` but for `awaitingCredits`, `batch` by the
 * ids of its jobs, and `since`.
 * @throws SearchAttributesMissingError
 */
export async function listJobs(client: Client, filter: JobFilter, limit: number): Promise<JobList> {
  const isListed = await hasSearchAttributes(client);
  const query = toQuery(filter, isListed);
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
  return { jobs, total: Math.max(count, jobs.length), query, hasSearchAttributes: isListed };
}

function toQuery({ status, app, code, batch, since }: JobFilter, isListed: boolean): string {
  const names = searchAttributes;
  const needed = Object.entries({
    app,
    code,
    'status awaitingCredits': status === 'awaitingCredits' ? status : undefined,
  });
  const missing = needed.flatMap(([name, value]) => (value === undefined || isListed ? [] : [name]));
  if (missing.length > 0) throw new SearchAttributesMissingError(missing);
  const conditions = [`WorkflowType = '${conversionJobType}'`];
  if (status !== undefined) conditions.push(executionStatus[status]);
  if (status === 'awaitingCredits') conditions.push(`${names.status.name} = 'awaitingCredits'`);
  if (status === 'running' && isListed) {
    conditions.push(`(${names.status.name} != 'awaitingCredits' OR ${names.status.name} IS NULL)`);
  }
  if (app !== undefined) conditions.push(`${names.app.name} = ${quoted(app)}`);
  if (code === possiblyChargedTwiceCode) {
    conditions.push(`${names.errorCode.name} STARTS_WITH '${possiblyChargedTwiceCode}'`);
  } else if (code !== undefined) {
    const codes = [code, `${possiblyChargedTwiceCode}+${code}`].map(quoted);
    conditions.push(`${names.errorCode.name} IN (${codes.join(', ')})`);
  }
  if (batch !== undefined) {
    const byId = `WorkflowId STARTS_WITH ${quoted(`${batch}/`)}`;
    conditions.push(isListed ? `(${names.batchId.name} = ${quoted(batch)} OR ${byId})` : byId);
  }
  if (since !== undefined) {
    const time = `'${since.toISOString()}'`;
    conditions.push(`(StartTime >= ${time} OR CloseTime >= ${time})`);
  }
  return conditions.join(' AND ');
}

/** What visibility does not hold, the job's own description does. */
async function describeListed(client: Client, info: WorkflowExecutionInfo): Promise<ListedJob> {
  const { workflowId, runId, typedSearchAttributes: attributes } = info;
  const input = attributes.get(searchAttributes.inputFormat);
  const formats = `${input ?? '?'} → ${attributes.get(searchAttributes.outputFormat) ?? '?'}`;
  const described = await describe(client, { workflowId, runId });
  const [app, batch, vcredits, taskId, listedCode] = [
    attributes.get(searchAttributes.app),
    attributes.get(searchAttributes.batchId),
    attributes.get(searchAttributes.vcredits),
    attributes.get(searchAttributes.taskId),
    attributes.get(searchAttributes.errorCode),
  ];
  const status = statusOf(info);
  const [first, second] = (listedCode ?? '').split('+');
  const isTwice = first === possiblyChargedTwiceCode;
  const code = isTwice ? second : first;
  return {
    workflowId,
    runId,
    status,
    ...(status === 'running' && { step: described?.step ?? 'waiting' }),
    summary: described?.summary ?? formats,
    since: info.closeTime ?? info.startTime,
    startedAt: info.startTime,
    ...(app !== undefined && { app }),
    ...(batch !== undefined && { batch }),
    ...(code && { code }),
    possiblyChargedTwice: isTwice,
    ...(vcredits !== undefined && { vcredits }),
    ...(taskId !== undefined && { taskId }),
  };
}

async function describe(client: Client, { workflowId, runId }: { workflowId: string; runId: string }) {
  try {
    const description = await client.workflow.getHandle(workflowId, runId).describe();
    return { summary: await description.staticSummary(), step: readPendingStep(description)?.step };
  } catch (error) {
    // Visibility may be a moment behind what has been deleted.
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

function statusOf({ status, typedSearchAttributes }: WorkflowExecutionInfo): ListedStatus {
  switch (status.name) {
    case 'RUNNING':
      return typedSearchAttributes.get(searchAttributes.status) === 'awaitingCredits' ? 'awaitingCredits' : 'running';
    case 'COMPLETED':
      return 'completed';
    case 'CANCELLED':
      return 'cancelled';
    default:
      return 'failed';
  }
}
