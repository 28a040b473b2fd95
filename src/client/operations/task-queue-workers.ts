import type { Client } from '@temporalio/client';
import { hasStatus, toMilliseconds } from '../../history/grpc';
import { quoted } from '../../job/search-attributes';

/** A worker polls at least once a minute. */
const pollerIsAliveMs = 75_000;
/** The server lists a poller for five minutes after its death; the rest allows for clock skew. */
const pollIsListedMs = 330_000;

/** The SDK's default, for workers that don't report their heartbeat interval. */
const defaultHeartbeatMs = 60_000;
/** Allows for clock skew. */
const minSilenceMs = 25_000;
/** How long polls may continue after a worker has reported its shutdown. */
const pollsEndMs = 2_000;
/** A value of `temporal.api.enums.v1.WorkerStatus`. */
const running = 1;

/** Identities of the workers that currently poll a task queue for workflows, as far as the server knows. */
export async function aliveWorkers(client: Client, taskQueue: string): Promise<string[]> {
  return (await readTaskQueue(client, taskQueue)).identities;
}

/** A value of `temporal.api.enums.v1.WorkerVersioningMode`. */
const versioned = 2;

/** The pollers of a task queue, and the version for new work. An undefined build id stands for unversioned workers. */
export async function readTaskQueue(client: Client, taskQueue: string) {
  const { namespace } = client.options;
  const request = { namespace, taskQueue: { name: taskQueue } };
  const { pollers, versioningInfo } = await client.workflowService.describeTaskQueue(request);
  const now = serverTime(pollers.map(({ lastAccessTime }) => toMilliseconds(lastAccessTime) ?? 0));
  const gone = await goneWorkers(client, taskQueue, now);
  const alive = pollers.filter(({ identity, lastAccessTime }) => {
    const polledAt = toMilliseconds(lastAccessTime) ?? 0;
    return now - polledAt < pollerIsAliveMs && polledAt > (gone.get(identity ?? '') ?? 0);
  });
  const builds = alive.map(({ deploymentOptions: options }) =>
    (options?.workerVersioningMode as number | undefined) === versioned ? (options?.buildId ?? undefined) : undefined,
  );
  return {
    identities: [...new Set(alive.map(({ identity }) => identity ?? ''))],
    builds: [...new Set(builds)],
    current: versioningInfo?.currentDeploymentVersion?.buildId ?? undefined,
  };
}

/** This machine's time; or the latest poll's, if that would lie in the future or be too old to be listed, so the clock must be wrong. */
function serverTime(polledAt: readonly number[]): number {
  const [now, latest] = [Date.now(), Math.max(0, ...polledAt)];
  return latest > now || now - latest > pollIsListedMs ? latest : now;
}

/**
 * Workers that shut down or whose heartbeats stopped: the latest time of a poll that can be the dead worker's, by identity. The server
 * still lists that poll for minutes. A later poll belongs to a worker restarted under the same identity that has sent no heartbeat yet.
 * Empty if the server keeps no heartbeats.
 */
async function goneWorkers(client: Client, taskQueue: string, now: number): Promise<ReadonlyMap<string, number>> {
  const request = { namespace: client.options.namespace, pageSize: 1_000, query: `TaskQueue = ${quoted(taskQueue)}` };
  const { workersInfo } = await client.workflowService.listWorkers(request).catch((error: unknown) => {
    if (hasStatus(error, 'UNIMPLEMENTED', 'PERMISSION_DENIED', 'INVALID_ARGUMENT')) return { workersInfo: [] };
    throw error;
  });
  const gone = new Map<string, number>();
  const alive = new Set<string>();
  for (const { workerHeartbeat: beat } of workersInfo) {
    if (!beat) continue;
    const identity = beat.workerIdentity ?? '';
    const intervalMs = toMilliseconds(beat.elapsedSinceLastHeartbeat) ?? defaultHeartbeatMs;
    const beatAt = toMilliseconds(beat.heartbeatTime) ?? 0;
    const isRunning = (beat.status as number | undefined) === running;
    if (isRunning && now - beatAt < Math.max(2.5 * intervalMs, minSilenceMs)) alive.add(identity);
    else gone.set(identity, Math.max(gone.get(identity) ?? 0, beatAt + (isRunning ? intervalMs : pollsEndMs)));
  }
  for (const identity of alive) gone.delete(identity);
  return gone;
}

/** A live worker answers at once. */
const queryTimeoutMs = 3_000;

/** A worker's answer to a query, if there is a worker. */
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
