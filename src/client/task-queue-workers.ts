import type { Client } from '@temporalio/client';
import { toMilliseconds } from './pending-step';

/** A worker asks for work again once a minute at the latest; the server lists it for five minutes after it has died. */
const pollerIsAliveMs = 75_000;

/** Identities of the workers that poll a task queue for workflows now, as far as the server knows. */
export async function aliveWorkers(client: Client, taskQueue: string): Promise<string[]> {
  const { namespace } = client.options;
  const { pollers } = await client.workflowService.describeTaskQueue({ namespace, taskQueue: { name: taskQueue } });
  const alive = pollers.filter((poller) => Date.now() - (toMilliseconds(poller.lastAccessTime) ?? 0) < pollerIsAliveMs);
  return [...new Set(alive.map(({ identity }) => identity ?? ''))];
}
