import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { toMilliseconds } from '../../history/job-history';
import { defined } from '../../shared/defined';

/** A worker polls at least once a minute; the server lists it for five minutes after it has died. */
const pollerIsAliveMs = 75_000;

/** Identities of the workers that currently poll a task queue for workflows, as far as the server knows. */
export async function aliveWorkers(client: Client, taskQueue: string): Promise<string[]> {
  return (await readTaskQueue(client, taskQueue)).identities;
}

/** Of `temporal.api.enums.v1.WorkerVersioningMode`. */
const versioned = 2;

/** The pollers of a task queue, and the version for new work. Build ids; undefined: unversioned workers. */
export async function readTaskQueue(client: Client, taskQueue: string) {
  const { namespace } = client.options;
  const request = { namespace, taskQueue: { name: taskQueue } };
  const { pollers, versioningInfo } = await client.workflowService.describeTaskQueue(request);
  const alive = alivePollers(pollers);
  const builds = alive.map(({ deploymentOptions: options }) =>
    (options?.workerVersioningMode as number | undefined) === versioned ? (options?.buildId ?? undefined) : undefined,
  );
  return {
    identities: [...new Set(alive.map(({ identity }) => identity ?? ''))],
    builds: [...new Set(builds)],
    current: versioningInfo?.currentDeploymentVersion?.buildId ?? undefined,
  };
}

function alivePollers(pollers: readonly temporal.api.taskqueue.v1.IPollerInfo[]) {
  return pollers.filter(({ lastAccessTime }) => Date.now() - (toMilliseconds(lastAccessTime) ?? 0) < pollerIsAliveMs);
}

/** A live worker answers at once. */
const queryTimeoutMs = 3_000;

/** What a worker answers to a query, if one is there. */
export async function askWorker(
  client: Client,
  { workflowId, runId, taskQueue }: { workflowId: string; runId?: string; taskQueue: string },
  query: string,
): Promise<{ worker: 'answers' | 'silent' | 'none'; state?: unknown }> {
  if ((await aliveWorkers(client, taskQueue)).length === 0) return { worker: 'none' };
  try {
    const state = await client.withDeadline(Date.now() + queryTimeoutMs, () =>
      client.workflow.getHandle(workflowId, runId).query(query),
    );
    return { worker: 'answers', state };
  } catch {
    return { worker: 'silent' };
  }
}

const clockQueue = 'fileconv-doctor';
const clockChecks = 20;
const clockCheckIntervalMs = 50;

/**
 * The server's and this machine's clock, in milliseconds since the epoch; undefined when the server does not tell. No
 * API returns the time, but a task queue shows when it was last polled: this polls an unused one.
 */
export async function serverClock(client: Client): Promise<{ theirsMs: number; oursMs: number } | undefined> {
  const request = { namespace: client.options.namespace, taskQueue: { name: clockQueue } };
  const identity = `${clockQueue} ${process.pid} ${Date.now()}`;
  const ending = new AbortController();
  const oursMs = Date.now();
  const polling = client.connection
    .withAbortSignal(ending.signal, () => client.workflowService.pollWorkflowTaskQueue({ ...request, identity }))
    .catch(() => undefined);
  try {
    for (let check = 0; check < clockChecks; check += 1) {
      await sleep(clockCheckIntervalMs);
      const { pollers } = await client.workflowService.describeTaskQueue(request);
      const theirsMs = toMilliseconds(pollers.find((poller) => poller.identity === identity)?.lastAccessTime);
      if (theirsMs !== undefined) return { theirsMs, oursMs };
    }
    return undefined;
  } finally {
    ending.abort();
    await polling;
  }
}

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
  return defined({
    perSecond: limit.rateLimit.requestsPerSecond ?? 0,
    ...(reason && { reason }),
    ...(updateIdentity && { setBy: updateIdentity }),
    setAt: updateTime ? Number(updateTime.seconds) * 1_000 : undefined,
    disobeyedBy: alivePollers(pollers).flatMap(({ identity, ratePerSecond }) =>
      identity && ratePerSecond === untoldPerSecond ? [identity] : [],
    ),
  });
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
