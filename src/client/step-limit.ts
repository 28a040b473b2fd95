import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { alivePollers } from './task-queue-workers';

/** How fast all workers of a task queue together may begin steps of jobs. */
export interface StepLimit {
  perSecond: number;
  /** Why it was set, and by whom, as far as the server knows. */
  reason?: string;
  setBy?: string;
  /** Milliseconds since the epoch. */
  setAt?: number;
  /** Identities of the workers that poll now and do not obey it. */
  disobeyedBy: string[];
}

/** What the server lists workers with that told it no limit of their own: such begin steps without asking it. */
const untoldPerSecond = 100_000;
const activityTasks = temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY;

/** The limit that the server keeps for the task queue; undefined when nobody has set one. */
export async function readStepLimit(client: Client, taskQueue: string): Promise<StepLimit | undefined> {
  const { config, pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: activityTasks,
    reportConfig: true,
  });
  const limit = config?.queueRateLimit;
  if (!limit?.rateLimit) return undefined;
  const { reason, updateIdentity, updateTime } = limit.metadata ?? {};
  return {
    perSecond: limit.rateLimit.requestsPerSecond ?? 0,
    ...(reason && { reason }),
    ...(updateIdentity && { setBy: updateIdentity }),
    ...(updateTime && { setAt: Number(updateTime.seconds) * 1_000 }),
    disobeyedBy: alivePollers(pollers).flatMap(({ identity, ratePerSecond }) =>
      identity && ratePerSecond === untoldPerSecond ? [identity] : [],
    ),
  };
}

/**
 * Sets one limit for all workers together, at once and also for those that start later; undefined removes it. The server keeps it. It
 * counts steps: an upload, a submit, a wait for a conversion and a download each are one, whatever app they are for.
 */
export async function setStepLimit(
  client: Client,
  { taskQueue, perSecond, reason }: { taskQueue: string; perSecond: number | undefined; reason: string },
): Promise<void> {
  const { namespace, identity } = client.options;
  await client.workflowService.updateTaskQueueConfig({
    namespace,
    identity,
    taskQueue,
    taskQueueType: activityTasks,
    updateQueueRateLimit: { ...(perSecond !== undefined && { rateLimit: { requestsPerSecond: perSecond } }), reason },
  });
}
