import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { aliveWorkers } from '../../src/client/operations/task-queue-workers';
import { startRig } from '../support/conversion-worker';
import { testClient } from '../support/temporal';
import { until } from '../support/until';

const namespace = 'default';
const [running, shuttingDown] = [1, 2];

let client: Client;
let taskQueue: string;
beforeAll(async () => (client = await testClient()));
beforeEach(() => void (taskQueue = `test-${randomUUID()}`));
afterAll(async () => {
  await Promise.all(polls);
  await client.connection.close();
});

const polls: Promise<unknown>[] = [];

/** The server lists a poll from its beginning until minutes after its end. */
async function pollOnce(identity: string): Promise<void> {
  const poll = client.connection.withDeadline(Date.now() + 3_000, () =>
    client.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: taskQueue }, identity }),
  );
  polls.push(poll.catch(() => undefined));
  await until(`${identity} polls`, async () => (await aliveWorkers(client, taskQueue)).includes(identity));
}

/** Sends a heartbeat like the SDK's, dated `secondsAgo`. */
async function tellHeartbeat(workerIdentity: string, status: number, secondsAgo: number): Promise<void> {
  const heartbeat = {
    workerInstanceKey: randomUUID(),
    workerIdentity,
    taskQueue,
    status,
    heartbeatTime: { seconds: Math.floor(Date.now() / 1_000) - secondsAgo },
    elapsedSinceLastHeartbeat: { seconds: 10 },
  };
  const request = { namespace, identity: workerIdentity, workerHeartbeat: [heartbeat] };
  await client.workflowService.recordWorkerHeartbeat(request as never);
}

it('a worker that only polls is alive, for example one that has just started or whose SDK sends no heartbeats', async () => {
  await pollOnce('polls');
  expect(await aliveWorkers(client, taskQueue)).toEqual(['polls']);
});

it('a worker that has stopped is gone, although its last poll is still listed', async () => {
  await Promise.all([pollOnce('gone'), pollOnce('alive')]);
  await tellHeartbeat('alive', running, 12);
  await tellHeartbeat('gone', shuttingDown, 0);
  await until('its end is known', async () => (await aliveWorkers(client, taskQueue)).length === 1);
  expect(await aliveWorkers(client, taskQueue)).toEqual(['alive']);
});

it('a worker that was killed is gone when its heartbeats have expired, although its last poll is still listed', async () => {
  await Promise.all([pollOnce('gone'), pollOnce('silent')]);
  await tellHeartbeat('gone', running, 0);
  expect(await aliveWorkers(client, taskQueue)).toHaveLength(2);
  const { now } = Date;
  const later = jest.spyOn(Date, 'now').mockImplementation(() => now() + 30_000);
  expect(await aliveWorkers(client, taskQueue)).toEqual(['silent']);
  later.mockRestore();
});

it.each([
  ['ahead', 3_600_000],
  ['behind', -3_600_000],
])(
  "the list of live workers does not depend on this machine's clock, even if that is an hour %s",
  async (_which, offMs) => {
    await Promise.all([pollOnce('gone'), pollOnce('alive')]);
    await tellHeartbeat('alive', running, 12);
    await tellHeartbeat('gone', shuttingDown, 0);
    const { now } = Date;
    const off = jest.spyOn(Date, 'now').mockImplementation(() => now() + offMs);
    const alive = await aliveWorkers(client, taskQueue).finally(() => off.mockRestore());
    expect(alive).toEqual(['alive']);
  },
);

it('a worker of the SDK that was shut down is gone at once', async () => {
  const rig = await startRig();
  await until('it polls', async () => (await aliveWorkers(rig.temporal, rig.taskQueue)).length === 1);
  await rig.stopWorker();
  expect(await aliveWorkers(rig.temporal, rig.taskQueue)).toEqual([]);
  await rig.close();
});

it.each([
  { it: 'told its end', status: shuttingDown, secondsAgo: 4 },
  { it: 'was killed', status: running, secondsAgo: 40 },
])('a worker with the name of one that $it is alive from its first poll on', async ({ status, secondsAgo }) => {
  await tellHeartbeat('again', status, secondsAgo);
  await pollOnce('again');
});

it('a worker that was restarted under the same name is alive as soon as it sends a heartbeat', async () => {
  await pollOnce('again');
  await tellHeartbeat('again', shuttingDown, 0);
  await until('the first is gone', async () => (await aliveWorkers(client, taskQueue)).length === 0);
  await tellHeartbeat('again', running, 0);
  await until('the second is there', async () => (await aliveWorkers(client, taskQueue)).length === 1);
});
