import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { toMilliseconds } from '../../history/job-history';

/** A worker polls at least once a minute; the server lists it for five minutes after it has died. */
const pollerIsAliveMs = 75_000;

/** Identities of the workers that currently poll a task queue for workflows, as far as the server knows. */
export async function aliveWorkers(client: Client, taskQueue: string): Promise<string[]> {
  const { identities } = await readTaskQueue(client, taskQueue);
  return identities;
}

/** The pollers of a task queue, and the version for new work. Build ids; undefined: unversioned workers. */
interface TaskQueueWorkers {
  identities: string[];
  builds: (string | undefined)[];
  current: string | undefined;
}

/** Of `temporal.api.enums.v1.WorkerVersioningMode`. */
const versioned = 2;

export async function readTaskQueue(client: Client, taskQueue: string): Promise<TaskQueueWorkers> {
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

export function alivePollers(pollers: readonly temporal.api.taskqueue.v1.IPollerInfo[]) {
  return pollers.filter(({ lastAccessTime }) => Date.now() - (toMilliseconds(lastAccessTime) ?? 0) < pollerIsAliveMs);
}

const clockQueue = 'fileconv-doctor';
const clockChecks = 20;
const clockCheckIntervalMs = 50;

/**
 * The server's and this machine's clock, in milliseconds since the epoch; undefined when the server does not tell. No
 * API returns the time, but a task queue shows when it was last polled: this polls an unused one.
 */
export async function serverClock(client: Client): Promise<{ theirsMs: number; oursMs: number } | undefined> {
  const { namespace } = client.options;
  const identity = `${clockQueue} ${process.pid} ${Date.now()}`;
  const ending = new AbortController();
  const oursMs = Date.now();
  const polling = client.connection
    .withAbortSignal(ending.signal, () =>
      client.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: clockQueue }, identity }),
    )
    .catch(() => undefined);
  try {
    for (let check = 0; check < clockChecks; check += 1) {
      await sleep(clockCheckIntervalMs);
      const { pollers } = await client.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: clockQueue },
      });
      const theirsMs = toMilliseconds(pollers.find((poller) => poller.identity === identity)?.lastAccessTime);
      if (theirsMs !== undefined) return { theirsMs, oursMs };
    }
    return undefined;
  } finally {
    ending.abort();
    await polling;
  }
}
