import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ending } from './play.mjs';

/** Longer than the worker's beats may be late. */
const stopMs = 15_000;
/** The status of gRPC. */
const notFound = 5;

/** What an operator may do while a batch runs. */
export const acts = {
  terminate: async (stack) => {
    const client = await stack.temporal();
    const jobs = await runningJobs(client);
    await Promise.all(jobs.map((job) => client.workflow.getHandle(job).terminate('by an operator').catch(ignoreGone)));
  },
  cancel: async (stack) => {
    const client = await stack.temporal();
    const jobs = await runningJobs(client);
    await Promise.all(jobs.map((job) => client.workflow.getHandle(job).cancel().catch(ignoreGone)));
  },
  reset: async (stack) => {
    const client = await stack.temporal();
    const [job] = await runningJobs(client);
    for (const workflowId of ['killed', ...(job === undefined ? [] : [job])]) await reset(client, workflowId);
  },
  step: async (stack) => {
    const client = await stack.temporal();
    for (const job of await runningJobs(client)) await actOnStep(client, job).catch(ignoreGone);
  },
  // What was cut off is continued with by the retry that follows.
  cancelBatch: (stack) => ending(stack.spawnCommand(['batch', 'cancel', 'killed'])),
  stop: async (stack) => {
    await stack.signal(['worker', 'up'], 'SIGSTOP');
    await sleep(stopMs);
    await stack.signal(['worker', 'up'], 'SIGCONT');
  },
};

/** A few of the batch's. */
async function runningJobs(client) {
  const jobs = [];
  const query = "WorkflowType = 'conversionJob' AND ExecutionStatus = 'Running'";
  for await (const { workflowId } of client.workflow.list({ query })) jobs.push(workflowId);
  return shuffled(jobs).slice(0, 3);
}

/** To its last workflow task, or to any. */
async function reset(client, workflowId) {
  const { runId } = await client.workflow.getHandle(workflowId).describe();
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const tasks = events.flatMap((event) => (event.workflowTaskCompletedEventAttributes ? [event.eventId] : []));
  if (tasks.length === 0) return;
  const { namespace } = client.options;
  await client.workflowService.resetWorkflowExecution({
    ...{ namespace, workflowExecution: { workflowId, runId }, requestId: randomUUID(), reason: 'by an operator' },
    workflowTaskFinishEventId: randomInt(2) ? tasks.at(-1) : tasks[randomInt(tasks.length)],
  });
}

/** Fails, completes or resets what a job is doing, as people do in the Temporal UI. */
async function actOnStep(client, workflowId) {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const [activityId] = (raw.pendingActivities ?? []).map((pending) => pending.activityId);
  if (activityId === undefined) return;
  const step = { workflowId, activityId };
  const { namespace } = client.options;
  const choices = [
    () => client.activity.fail(step, new Error('by an operator')),
    () => client.activity.complete(step, {}),
    () => client.workflowService.resetActivity({ namespace, execution: { workflowId }, id: activityId }),
  ];
  await shuffled(choices)[0]();
}

function ignoreGone(error) {
  const isGone = ['WorkflowNotFoundError', 'ActivityNotFoundError'].includes(error.name) || error.code === notFound;
  if (!isGone) throw error;
}

export function shuffled(list) {
  const rest = [...list];
  return list.map(() => rest.splice(randomInt(rest.length), 1)[0]);
}
