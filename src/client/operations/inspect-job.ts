import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { describeWorkflow, readStartInput } from '../../history/find-workflow';
import { outcomeOf } from '../../recall/recall-job';
import type { BatchState } from '../../batch/model/state';
import type { Charge } from '../../job/charge';
import { defined } from '../../job/defined';
import {
  jobSummary,
  type ConversionJobInput,
  type ConversionJobState,
  type JobPhase,
  type OutputFile,
} from '../../job/types';
import { batchStateQuery, conversionJobType, conversionStateQuery } from '../../job/names';
import { searchAttributes } from '../../job/search-attributes';
import { jobsOfBatch } from '../../job/temporal-ui';
import { shellWord } from '../../messages/wording';
import {
  readFailingTask,
  readPendingStep,
  waitingOf,
  waitingOfBatch,
  waitingOfCode,
  type WorkerAnswer,
  type PendingStep,
  type Waiting,
} from './job-waiting';
import { askWorker } from './task-queue-workers';

type JobStatus = 'running' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'timedOut';

/** Everything that an on-call engineer needs about one job. Times are milliseconds since the epoch. */
export interface JobInspection {
  workflowId: string;
  runId: string;
  summary: string;
  app: string;
  input: ConversionJobInput;
  taskQueue: string;
  batchId?: string;
  tags?: string[];
  status: JobStatus;
  /** Only for a running job, if a worker answers. */
  phase?: JobPhase;
  /** Start of the current phase, or the end of the job. */
  since: number;
  startedAt: number;
  endedAt?: number;
  /** What a running job waits for; completes the sentence "waits for …". */
  waitsFor?: string;
  /** The same with the reason, the time limit and the next command. */
  waiting?: Waiting;
  pending?: PendingStep;
  /** Whether a worker answers for a running job. */
  worker?: WorkerAnswer['worker'];
  taskId?: string;
  /** This and the fields below: only for a job that has ended. */
  requests?: number;
  vcredits?: number;
  /** What the service may have charged for the job. */
  charge?: Charge;
  possiblyChargedTwice: boolean;
  output?: OutputFile;
  error?: { code: string; message: string };
}

export class NotAConversionJobError extends Error {
  override readonly name = 'NotAConversionJobError';
  constructor(
    readonly workflowId: string,
    readonly workflowType: string,
  ) {
    super(`${workflowId} is not a conversion job but a workflow of type ${workflowType}`);
  }
}

/**
 * Inspects a job: an open one by its worker, if one answers, and its pending activity; one that has ended by its result or failure.
 * @throws WorkflowNotFoundError, NotAConversionJobError
 */
export async function inspectJob(client: Client, workflowId: string, runId?: string): Promise<JobInspection> {
  const description = await describeWorkflow(client.workflow.getHandle(workflowId, runId));
  if (description.type !== conversionJobType) throw new NotAConversionJobError(workflowId, description.type);
  const status = statuses[description.status.name] ?? 'failed';
  const input = (await readStartInput(client.workflow, description)) as ConversionJobInput;
  const startedAt = description.startTime.getTime();
  const { runId: ran, taskQueue, typedSearchAttributes: attributes } = description;
  const known = {
    ...{ workflowId, runId: ran, app: input.app, input, taskQueue, status, startedAt },
    summary: (await description.staticSummary()) ?? jobSummary(input),
    batchId: attributes.get(searchAttributes.batchId),
    tags: attributes.get(searchAttributes.tags),
  };
  if (status !== 'running') {
    const outcome = await outcomeOf(client, description);
    const { taskId, requests, vcredits, charge, possiblyChargedTwice = false, output, code, message = '' } = outcome;
    const endedAt = description.closeTime?.getTime() ?? startedAt;
    const error = code === undefined ? undefined : { code, message };
    const end = { endedAt, since: endedAt, taskId, requests, vcredits, charge, possiblyChargedTwice, output, error };
    return defined({ ...known, ...end });
  }
  const { state, worker, waiting } = await readOpenJob(client, description, input.app);
  return defined({
    ...known,
    phase: state?.phase,
    since: state?.since ?? startedAt,
    waitsFor: waiting.waitsFor,
    waiting,
    pending: readPendingStep(description),
    worker,
    taskId: state?.taskId,
    possiblyChargedTwice: state?.possiblyChargedTwice === true,
  });
}

async function readOpenJob(client: Client, description: WorkflowExecutionDescription, app: string) {
  const { worker, state: answer } = await askWorker(client, description, conversionStateQuery);
  const state = answer as ConversionJobState | undefined;
  const waiting =
    (await readFailingTask(client, description)) ?? waitingOf(description, { worker, phase: state?.phase }, app);
  return { worker, state, waiting };
}

const statuses: Readonly<Record<string, JobStatus>> = {
  RUNNING: 'running',
  PAUSED: 'running',
  COMPLETED: 'completed',
  CANCELLED: 'cancelled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timedOut',
};

export interface BatchWaiting {
  waiting: Waiting;
  /** Milliseconds since the epoch, if known. */
  since?: number;
}

/** Number of jobs in flight to inspect: most wait for the same thing. */
const lookedAt = 5;

/** The state of a batch, if a worker answers, and the reason if it is blocked. */
export async function readBatchWaiting(
  client: Client,
  name: string,
): Promise<Partial<BatchWaiting> & { state?: BatchState }> {
  const description = await describeWorkflow(client.workflow.getHandle(name));
  const { taskQueue, status } = description;
  if (statuses[status.name] !== 'running') return {};
  // Without a run id: the batch may have continued as new since.
  const { worker, state: answer } = await askWorker(client, { workflowId: name, taskQueue }, batchStateQuery);
  const state = answer as BatchState | undefined;
  const failing = worker === 'answers' ? undefined : await readFailingTask(client, description);
  const waiting = failing ?? (state && waitingOfState(state, name)) ?? waitingOfBatch(description, { worker });
  return {
    ...(state && { state }),
    ...(waiting
      ? defined({ waiting, since: state?.needsAttention?.since })
      : mostFrequent(await waitingJobs(client, description))),
  };
}

function waitingOfState({ status, needsAttention }: BatchState, name: string): Waiting | undefined {
  if (status === 'paused') {
    const next = { why: 'Continue', command: `fileconv batch resume ${shellWord(name)}` };
    return { reason: 'paused', waitsFor: 'someone to resume it', next };
  }
  if (!needsAttention) return undefined;
  const { code, message: because, app } = needsAttention;
  return { ...(waitingOfCode(code, app) ?? { reason: 'person', waitsFor: `a person (${code})` }), because };
}

async function waitingJobs(client: Client, batch: WorkflowExecutionDescription): Promise<BatchWaiting[]> {
  const ids = await jobsInFlight(client, batch);
  const found = await Promise.all(ids.map((id) => inspectJob(client, id).catch(() => undefined)));
  return found.flatMap((job) => (job?.waiting ? [{ waiting: job.waiting, since: job.since }] : []));
}

/** Jobs started by this run of the batch; right after continue-as-new, those that the server lists. */
async function jobsInFlight(client: Client, { raw, workflowId }: WorkflowExecutionDescription): Promise<string[]> {
  const children = (raw.pendingChildren ?? []).filter(({ workflowTypeName }) => workflowTypeName === conversionJobType);
  const ids = children.slice(0, lookedAt).flatMap(({ workflowId: id }) => id ?? []);
  if (ids.length > 0) return ids;
  const query = `WorkflowType = '${conversionJobType}' AND ExecutionStatus = 'Running' AND ${jobsOfBatch(workflowId)}`;
  for await (const { workflowId: id } of client.workflow.list({ query, pageSize: lookedAt })) {
    if (ids.push(id) >= lookedAt) break;
  }
  return ids;
}

/** The job that has waited longest among those with the most common reason. */
function mostFrequent(jobs: readonly BatchWaiting[]): BatchWaiting | undefined {
  const alike = ({ waiting }: BatchWaiting) => jobs.filter((job) => job.waiting.reason === waiting.reason).length;
  return [...jobs].sort((one, other) => alike(other) - alike(one) || (one.since ?? 0) - (other.since ?? 0))[0];
}
