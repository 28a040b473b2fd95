import type { Client } from '@temporalio/client';
import { toMilliseconds } from '../grpc';

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
  const alive = pollers.filter(
    ({ lastAccessTime }) => Date.now() - (toMilliseconds(lastAccessTime) ?? 0) < pollerIsAliveMs,
  );
  const builds = alive.map(({ deploymentOptions: options }) =>
    (options?.workerVersioningMode as number | undefined) === versioned ? (options?.buildId ?? undefined) : undefined,
  );
  return {
    identities: [...new Set(alive.map(({ identity }) => identity ?? ''))],
    builds: [...new Set(builds)],
    current: versioningInfo?.currentDeploymentVersion?.buildId ?? undefined,
  };
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
