import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { aliveWorkers } from '../../../../src/client/operations/task-queue-workers';
import { installQuietRuntime } from '../../../../test/support/conversion-worker';
import { testClient } from '../../../../test/support/temporal';
import { until } from '../../../../test/support/until';
import { watchJobs } from '../../src/observability/worker-runtime';

let client: Client;
beforeAll(async () => {
  installQuietRuntime();
  client = await testClient();
});
afterAll(() => client.connection.close());

/** Number of queries that a worker with this identity sends in one round. */
async function queriesOf(identity: string, taskQueue: string): Promise<number> {
  const count = jest.spyOn(client.workflow, 'count').mockResolvedValue({ count: 0, groups: [] });
  const once = new AbortController();
  const watching = watchJobs({ client, taskQueue, identity, apps: ['a', 'b'], signal: once.signal });
  once.abort();
  await watching;
  const queries = count.mock.calls.length;
  count.mockRestore();
  return queries;
}

it('only the first three workers of a task queue, by identity, count its open jobs', async () => {
  const taskQueue = `test-${randomUUID()}`;
  expect(await queriesOf('alone', taskQueue)).toBe(4);
  const identities = ['5@e', '4@d', '3@c', '2@b', '1@a'];
  const request = { namespace: 'default', taskQueue: { name: taskQueue } };
  const poll = (identity: string) =>
    client.connection.withDeadline(Date.now() + 5_000, () =>
      client.workflowService.pollWorkflowTaskQueue({ ...request, identity }),
    );
  const polls = Promise.allSettled(identities.map(poll));
  await until('all of them poll', async () => (await aliveWorkers(client, taskQueue)).length === identities.length);
  const queries = [];
  for (const identity of identities) queries.push([identity, await queriesOf(identity, taskQueue)]);
  await polls;
  expect(queries).toEqual([
    ['5@e', 0],
    ['4@d', 0],
    ['3@c', 4],
    ['2@b', 4],
    ['1@a', 4],
  ]);
});
