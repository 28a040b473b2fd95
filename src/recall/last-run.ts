import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowExecutionDescription, WorkflowExecutionInfo } from '@temporalio/client';
import { findWorkflow, firstRunOf, lenient } from '../history/find-workflow';
import { hasStatus } from '../history/grpc';
import { quoted } from '../job/search-attributes';

/**
 * The given run, or the latest one that started and ended under the job's id after it was found. Undefined if Temporal no longer knows
 * the given run.
 */
export async function lastRun(
  client: Client,
  workflowId: string,
  found: string,
): Promise<WorkflowExecutionDescription | undefined> {
  let last = await findWorkflow(client, workflowId, found);
  if (!last) return undefined;
  const latest = await findWorkflow(client, workflowId);
  // Identifies the asking job, whose own runs before a reset must be skipped.
  const asking = latest?.status.name === 'RUNNING' ? firstRunOf(latest) : undefined;
  for (const { runId, startTime } of await runsSince(client, workflowId, last.startTime)) {
    if (runId === latest?.runId || startTime <= last.startTime) continue;
    const other = await findWorkflow(client, workflowId, runId);
    if (other && (asking === undefined || firstRunOf(other) !== asking)) last = other;
  }
  return last;
}

/** The last run under the id before a reset of the given run made this one. Any run can be reset, also one that others have followed. */
export async function runBeforeReset(
  client: Client,
  { workflowId, startTime: resetAt }: WorkflowExecutionDescription,
  resetFrom: string,
): Promise<WorkflowExecutionDescription | undefined> {
  const base = await findWorkflow(client, workflowId, resetFrom);
  if (!base) return undefined;
  const followed = (await runsSince(client, workflowId, base.startTime)).filter((run) => run.startTime < resetAt);
  const last = followed.reduce<Pick<WorkflowExecutionInfo, 'runId' | 'startTime'>>(
    (one, other) => (other.startTime > one.startTime ? other : one),
    base,
  );
  return last.runId === base.runId ? base : findWorkflow(client, workflowId, last.runId);
}

interface Asked {
  workflowId: string;
  since: Date;
  resolve: (runs: WorkflowExecutionInfo[]) => void;
  reject: (error: unknown) => void;
}

/** Servers allow few list requests per second, so questions that come within this pause share the next one. */
const pauseMs = 200;
const idsAtOnce = 100;
const asked = new WeakMap<Client, Asked[]>();

function runsSince(client: Client, workflowId: string, since: Date): Promise<WorkflowExecutionInfo[]> {
  return new Promise((resolve, reject) => {
    const question = { workflowId, since, resolve, reject };
    const waiting = asked.get(client);
    if (waiting) waiting.push(question);
    else void listAll(client, [question]);
  });
}

async function listAll(client: Client, waiting: Asked[]): Promise<void> {
  asked.set(client, waiting);
  while (waiting.length > 0) {
    await list(client, waiting.splice(0, idsAtOnce));
    await sleep(pauseMs);
  }
  asked.delete(client);
}

async function list(client: Client, questions: readonly Asked[]): Promise<void> {
  try {
    const since = new Date(Math.min(...questions.map((question) => question.since.getTime())));
    const ids = questions.map(({ workflowId }) => quoted(workflowId)).join(', ');
    const found = new Map<string, WorkflowExecutionInfo[]>();
    const query = `WorkflowId IN (${ids}) AND StartTime > ${quoted(since.toISOString())}`;
    for await (const run of lenient(client).workflow.list({ query })) {
      found.set(run.workflowId, [...(found.get(run.workflowId) ?? []), run]);
    }
    for (const { workflowId, resolve } of questions) resolve(found.get(workflowId) ?? []);
  } catch (error) {
    for (const { resolve, reject } of questions) {
      // Temporal's test server does not support lists.
      if (hasStatus(error, 'UNIMPLEMENTED')) resolve([]);
      else reject(error);
    }
  }
}
