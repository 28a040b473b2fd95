import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { alivePollers } from './task-queue-workers';

/** Limit on how many job steps all workers of a task queue together may start per second. */
export interface StepLimit {
  perSecond: number;
  /** Why and by whom it was set, if the server knows. */
  reason?: string;
  setBy?: string;
  /** Milliseconds since the epoch. */
  setAt?: number;
  /** Identities of the current workers that do not obey the limit. */
  disobeyedBy: string[];
}

/** Listed by the server for workers without a limit of their own, which start steps without asking it. */
const untoldPerSecond = 100_000;
const activityTasks = temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY;

/** The server's limit for the task queue; undefined when none is set. */
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
 * Sets one limit for all workers, current and future ones, stored by the server; undefined removes it. It counts steps:
 * an upload, a submit, a wait for a conversion and a download are one each, for any app.
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
