import type { ItemWaits } from '../../src/shared/batch';
import { endBatch, planRun } from '../support/batches';
import type { ConversionRig } from '../support/conversion-worker';
import { startRig } from '../support/conversion-worker';
import { answerCompleted, answerOutput } from '../support/stub-service';
import { until } from '../support/until';

/** A destination without room: nothing is paid for in vain, and everything goes on by itself once there is room. */

let rig: ConversionRig;

beforeEach(async () => {
  rig = await startRig();
});

afterEach(() => rig.close());

describe('a batch', () => {
  it('starts no more jobs as long as one in flight waits for a person, says why, and goes on by itself over its runs', async () => {
    const gate = { isOpen: false };
    rig.stub.on('task/response', (seen, response) => {
      const id = String(seen.data['connector']);
      if (gate.isOpen) answerCompleted(response, id);
      else answerOutput(response, { entity: { id, status: 'running' }, result: {} });
    });
    const run = await planRun(rig.folder, 9, { request: { window: 3, historyLimit: 30 } });
    const handle = await rig.client.startBatch(run.request);
    await until('the window is full', () => rig.stub.count('convert/file') === 3);
    const tell = (item: number, over: boolean) =>
      rig.temporal.workflow.getHandle(run.name).signal<[ItemWaits]>('conversionItemWaits', {
        workflowId: `${run.name}/${item}`,
        code: 'DESTINATION_FULL',
        message: 'No room at out. Make room.',
        over,
      });
    await tell(1, false);
    await tell(2, false);
    await tell(7, false);
    await rig.temporal.workflow.getHandle(`${run.name}/3`).terminate('to free a place in the window');
    const needsAttention = { code: 'DESTINATION_FULL', message: 'No room at out. Make room.', jobs: 2 };
    await until('one has ended', async () => (await handle.state()).failed === 1);
    expect(await handle.state()).toMatchObject({ status: 'running', inFlight: 2, needsAttention });
    const details = await rig.temporal.workflow
      .getHandle(run.name)
      .query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(details.currentDetails).toContain('`DESTINATION_FULL`: No room at out. Make room.');
    expect(rig.stub.count('upload/file')).toBe(3);
    await tell(1, true);
    expect((await handle.state()).needsAttention).toMatchObject({ jobs: 1 });
    gate.isOpen = true;
    const { result } = await endBatch(handle, run);
    expect(result).toMatchObject({ status: 'completed', succeeded: 8, failed: 1 });
    expect(result.needsAttention).toBeUndefined();
  });
});
