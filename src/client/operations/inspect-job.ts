import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { readRun, type JobHistory, type TimelineEntry } from '../../history/job-history';
import type { Charge } from '../../shared/charge';
import type { BatchState } from '../../shared/batch';
import { defined } from '../../shared/defined';
import {
  jobPhases,
  jobSummary,
  type ConversionFailureDetails,
  type ConversionJobState,
  type JobPhase,
  type OutputFile,
} from '../../shared/job';
import { activityNames, batchStateQuery, conversionJobType, conversionStateQuery } from '../../shared/names';
import { searchAttributes } from '../../shared/search-attributes';
import { jobsOfBatch } from '../../shared/temporal-ui';
import {
  pausedInTemporal,
  readFailedBatchStep,
  readFailingTask,
  readPendingStep,
  waitingOf,
  waitingOfCode,
  waitingOfStep,
  withoutWorker,
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
  taskQueue: string;
  batchId?: string;
  tags?: string[];
  status: JobStatus;
  /** Present while the job runs. */
  phase?: JobPhase;
  /** Start of the current phase, or the end of the job. */
  since: number;
  startedAt: number;
  endedAt?: number;
  /** What a running job waits for: completes "waits for". */
  waitsFor?: string;
  /** The same, with the reason and the time limit. */
  waiting?: Waiting;
  pending?: PendingStep;
  /** Whether a worker answers for a running job; without one, everything here comes from the history. */
  worker?: 'answers' | 'silent' | 'none';
  timeline: TimelineEntry[];
  taskId?: string;
  requests: number;
  vcredits?: number;
  /** What the service may have charged for the job. */
  charge: Charge;
  possiblyChargedTwice: boolean;
  output?: OutputFile;
  error?: { code: string; message: string };
  history: JobHistory;
}

export class NotAConversionJobError extends Error {
  override readonly name = 'NotAConversionJobError';
  constructor(
    readonly workflowId: string,
    readonly workflowType: string,
  ) {
    super(`${workflowId} is no conversion job but a workflow of type ${workflowType}`);
  }
}

/**
 * Reads a job from its history, its pending activity and, when a worker is alive, a query.
 * @throws WorkflowNotFoundError, NotAConversionJobError
 */
export async function inspectJob(client: Client, workflowId: string, runId?: string): Promise<JobInspection> {
  const { description, status, history } = await readJob(client, workflowId, runId);
  const isRunning = status === 'running';
  const pending = isRunning ? readPendingStep(description) : undefined;
  const answer = isRunning ? await askWorker(client, description, conversionStateQuery) : undefined;
  const state = answer?.state as ConversionJobState | undefined;
  const startedAt = description.startTime.getTime();
  const stand = isRunning ? standOf(history, pending, startedAt) : undefined;
  const waiting = isRunning
    ? ((await readFailingTask(client, description)) ??
      waitingOf({ history, description, pending, worker: answer?.worker }))
    : undefined;
  const { result, failure, task } = history;
  const details = failure?.details as Partial<ConversionFailureDetails> | undefined;
  const endedAt = description.closeTime?.getTime();
  return defined({
    workflowId,
    runId: description.runId,
    summary: (await description.staticSummary()) ?? jobSummary(history.input),
    app: history.input.app,
    taskQueue: description.taskQueue,
    batchId: description.typedSearchAttributes.get(searchAttributes.batchId),
    tags: description.typedSearchAttributes.get(searchAttributes.tags),
    status,
    phase: stand && (state?.phase ?? stand.phase),
    waitsFor: waiting?.waitsFor,
    waiting,
    since: endedAt ?? state?.since ?? stand?.since ?? startedAt,
    startedAt,
    endedAt,
    pending,
    worker: answer?.worker,
    timeline: history.timeline,
    taskId: result?.taskId ?? state?.taskId ?? task?.taskId ?? details?.taskId,
    requests: result?.requests ?? history.requests,
    vcredits: result?.vcredits ?? task?.vcredits,
    charge: history.charge.charge,
    possiblyChargedTwice:
      result?.possiblyChargedTwice ??
      state?.possiblyChargedTwice ??
      details?.possiblyChargedTwice ??
      history.charge.possiblyChargedExtra !== undefined,
    output: result?.output,
    error: failure && { code: failure.code, message: failure.message },
    history,
  });
}

/**
 * Reads a job from its history alone; its latest run when `runId` is absent.
 * @throws WorkflowNotFoundError, NotAConversionJobError
 */
export async function readJob(
  client: Client,
  workflowId: string,
  runId?: string,
): Promise<{ description: WorkflowExecutionDescription; status: JobStatus; history: JobHistory }> {
  const description = await client.workflow.getHandle(workflowId, runId).describe();
  if (description.type !== conversionJobType) throw new NotAConversionJobError(workflowId, description.type);
  // By run id, because another run may have started meanwhile.
  const history = await readRun(client, description);
  return { description, status: statusOf(description), history };
}

/** Phase of a running job, derived from its history alone. */
function standOf(
  { lastStep, input }: JobHistory,
  pending: PendingStep | undefined,
  startedAt: number,
): { phase: JobPhase; since: number } {
  if (!lastStep) return { phase: 'uri' in input.source ? 'uploading' : 'submitting', since: startedAt };
  const { activity, entry, failure, hasCallback } = lastStep;
  if (pending) return { phase: phaseOf(entry.what), since: entry.at };
  const since = entry.endedAt ?? entry.at;
  if (failure?.reaction === 'outcomeUnknown' && hasCallback) return { phase: 'submitting', since };
  if (activity === activityNames.convertFile && entry.outcome === 'done') return { phase: 'converting', since };
  return { phase: phaseOf(entry.what), since };
}

function phaseOf(what: string): JobPhase {
  return jobPhases.find((phase) => phase === what) ?? 'downloading';
}

const statuses: Readonly<Record<string, JobStatus>> = {
  RUNNING: 'running',
  PAUSED: 'running',
  COMPLETED: 'completed',
  CANCELLED: 'cancelled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timedOut',
};

function statusOf({ status }: WorkflowExecutionDescription): JobStatus {
  return statuses[status.name] ?? 'failed';
}

interface BatchWaiting {
  waiting: Waiting;
  /** Milliseconds since the epoch, if known. */
  since?: number;
  app?: string;
}

/** Number of jobs in flight to look at: most wait for the same. */
const lookedAt = 5;

/** The state of a batch, if a worker answers, and what blocks it, if anything does. */
export async function readBatchWaiting(
  client: Client,
  name: string,
): Promise<Partial<BatchWaiting> & { state?: BatchState }> {
  const description = await client.workflow.getHandle(name).describe();
  const { taskQueue, status } = description;
  if (status.name === 'PAUSED') return { waiting: pausedInTemporal };
  if (status.name !== 'RUNNING') return {};
  // Its latest run, which may be another one by now.
  const { worker, state } = await askWorker(client, { workflowId: name, taskQueue }, batchStateQuery);
  if (worker !== 'answers') {
    return { waiting: (await readFailingTask(client, description)) ?? withoutWorker(worker, taskQueue) };
  }
  // Its own step may be in the way, such as merging its results in a bucket that is gone.
  const step = readFailedBatchStep(description);
  const waiting = waitingOfState(state as BatchState) ?? (step && waitingOfStep(step, ''));
  return {
    state: state as BatchState,
    ...(waiting ? { waiting } : mostFrequent(await waitingJobs(client, description))),
  };
}

function waitingOfState({ status, needsAttention }: BatchState): Waiting | undefined {
  if (status === 'paused') return { reason: 'paused', waitsFor: 'somebody who resumes it' };
  if (!needsAttention) return undefined;
  const { code, message: because, app = '' } = needsAttention;
  const { reason, waitsFor = `a person (${code})` } = waitingOfCode(code, app);
  return { reason, waitsFor, because };
}

async function waitingJobs(client: Client, batch: WorkflowExecutionDescription): Promise<BatchWaiting[]> {
  const ids = await jobsInFlight(client, batch);
  const found = await Promise.all(ids.map((id) => readJobWaiting(client, id).catch(() => undefined)));
  return found.filter((job) => job !== undefined);
}

/** Undefined when the job has ended. Queries no worker. */
async function readJobWaiting(client: Client, workflowId: string): Promise<BatchWaiting | undefined> {
  const { description, status, history } = await readJob(client, workflowId);
  if (status !== 'running') return undefined;
  const pending = readPendingStep(description);
  return {
    app: history.input.app,
    waiting:
      (await readFailingTask(client, description)) ?? waitingOf({ history, description, pending, worker: undefined }),
    since: standOf(history, pending, description.startTime.getTime()).since,
  };
}

/** Jobs started by this run of the batch; right after continue-as-new, jobs listed by the server. */
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

/** Of the jobs with the most common reason, the one that has waited longest. */
function mostFrequent(jobs: readonly BatchWaiting[]): BatchWaiting | undefined {
  const alike = ({ waiting }: BatchWaiting) => jobs.filter((job) => job.waiting.reason === waiting.reason).length;
  return [...jobs].sort((one, other) => alike(other) - alike(one) || (one.since ?? 0) - (other.since ?? 0))[0];
}
