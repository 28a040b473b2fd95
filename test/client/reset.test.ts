import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { resetWorkflow } from '../support/reset';
import { until } from '../support/until';

/** Clients that wait for a job or a batch while it is reset with `temporal workflow reset`. */

const rig = rigOfEachTest();

async function requested(name: string) {
  return { source: await rig.source(name), output: 'pdf', destination: path.join(rig.folder, `${name}.pdf`) };
}

const isPolled = () => until('its task is polled', () => rig.stub.count('task/response') > 0);

it('a handle to a job waits for the run that a reset creates, and then for its end', async () => {
  const held = rig.stub.hold();
  const job = await rig.client.start({ ...(await requested('report.md')), policies: quickPolicies });
  const ended = Promise.all([job.result(), rig.client.get(job.workflowId).result()]);
  await isPolled();
  await resetWorkflow(rig.temporal, job.workflowId, 'latest');
  await resetWorkflow(rig.temporal, job.workflowId, 'latest');
  held.letGo();
  expect((await ended).map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
});

it('a handle to a batch does so too', async () => {
  const held = rig.stub.hold();
  const items = [await requested('report.md')];
  const batch = await rig.client.startBatch({ name: randomUUID(), items, policies: quickPolicies });
  const ended = batch.result();
  await isPolled();
  await resetWorkflow(rig.temporal, batch.name, 'latest');
  held.letGo();
  expect(await ended).toMatchObject({ status: 'completed', succeeded: 1 });
});

it('a terminated batch is reported as terminated, even if another one is started under its name', async () => {
  const held = rig.stub.hold();
  const name = randomUUID();
  const request = { name, items: [await requested('report.md')], policies: quickPolicies };
  const ended = expect((await rig.client.startBatch(request)).result()).rejects.toMatchObject({ code: 'TERMINATED' });
  await isPolled();
  await rig.temporal.workflow.getHandle(name).terminate();
  await rig.client.startBatch(request);
  await ended;
  held.letGo();
  await rig.client.getBatch(name).result();
});
