import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { BatchState } from '../../shared/batch';
import { batchStateQuery, conversionJobType } from '../../shared/names';
import { readJobWaiting } from './inspect-job';
import { quoted } from './job-query';
import { withoutWorker, type Waiting } from './job-waiting';
import { aliveWorkers } from './task-queue-workers';

interface BatchWaiting {
  waiting: Waiting;
  /** Milliseconds since the epoch, if known. */
  since?: number;
  app?: string;
}

/** Number of jobs in flight to look at: most wait for the same. */
const lookedAt = 5;
/** A live worker answers at once. */
const queryTimeoutMs = 3_000;

/** The state of a batch, if a worker answers, and what blocks it, if anything does. */
export async function readBatchWaiting(
  client: Client,
  name: string,
): Promise<Partial<BatchWaiting> & { state?: BatchState }> {
  const handle = client.workflow.getHandle(name);
  const description = await handle.describe();
  const { taskQueue, status } = description;
  if (status.name === 'PAUSED') {
    return { waiting: { reason: 'paused', waitsFor: 'somebody who unpauses it in Temporal' } };
  }
  if (status.name !== 'RUNNING') return {};
  if ((await aliveWorkers(client, taskQueue)).length === 0) return { waiting: withoutWorker('none', taskQueue) };
  const state = await client
    .withDeadline(Date.now() + queryTimeoutMs, () => handle.query<BatchState>(batchStateQuery))
    .catch(() => undefined);
  if (!state) return { waiting: withoutWorker('silent', taskQueue) };
  return { state, ...(waitingOfState(state) ?? mostFrequent(await waitingJobs(client, description))) };
}

function waitingOfState({ status, needsAttention }: BatchState): BatchWaiting | undefined {
  if (status === 'paused') return { waiting: { reason: 'paused', waitsFor: 'somebody who resumes it' } };
  if (!needsAttention) return undefined;
  const { code, message: because } = needsAttention;
  return code === 'DESTINATION_FULL'
    ? { waiting: { reason: 'room', waitsFor: 'room at the destination', because } }
    : { waiting: { reason: 'attention', waitsFor: `a person (${code})`, because } };
}

async function waitingJobs(client: Client, batch: WorkflowExecutionDescription): Promise<BatchWaiting[]> {
  const ids = await jobsInFlight(client, batch);
  const found = await Promise.all(ids.map((id) => readJobWaiting(client, id).catch(() => undefined)));
  return found.filter((job) => job !== undefined);
}

/** Jobs started by this run of the batch; right after continue-as-new, jobs listed by the server. */
async function jobsInFlight(client: Client, { raw, workflowId }: WorkflowExecutionDescription): Promise<string[]> {
  const children = (raw.pendingChildren ?? []).filter(({ workflowTypeName }) => workflowTypeName === conversionJobType);
  const ids = children.slice(0, lookedAt).flatMap(({ workflowId: id }) => id ?? []);
  if (ids.length > 0) return ids;
  const query = `WorkflowType = '${conversionJobType}' AND ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH ${quoted(`${workflowId}/`)}`;
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
