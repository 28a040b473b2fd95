import { Client, Connection, WorkflowUpdateFailedError } from '@temporalio/client';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { InvalidRequestError } from '../../src/client/job-request';
import { planRun, startRun } from '../support/batches';
import { rigOfEachTest } from '../support/conversion-worker';
import { testTemporalAddress } from '../support/temporal';
import { startTemporalProxy, type Refusal } from '../support/temporal-proxy';
import { until } from '../support/until';

const rig = rigOfEachTest();

const eventsOf = async (workflowId: string): Promise<number> =>
  (await rig.temporal.workflow.getHandle(workflowId).describe()).historyLength;

describe('a batch', () => {
  it('rejects an invalid Update, names the limit, and adds nothing to its history', async () => {
    rig.stub.hold();
    const { request, name } = await planRun(rig.folder, 4, { request: { window: 2 } });
    const batch = await startRun(rig.client, request);
    await until('both jobs are under way', () => rig.stub.count('convert/file') === 2);
    await until('it has nothing to do', async () => !(await batch.describe()).raw.pendingWorkflowTask);
    const before = await eventsOf(name);
    await expect(batch.setWindow(900)).rejects.toThrow(InvalidRequestError);
    const raw = rig.temporal.workflow.getHandle(name);
    await expect(raw.executeUpdate('batchWindow', { args: [900] })).rejects.toMatchObject({
      constructor: WorkflowUpdateFailedError,
      cause: { type: 'UPDATE_REFUSED', message: 'The window must be a whole number from 1 to 500.' },
    });
    await expect(raw.executeUpdate('batchWindow')).rejects.toThrow(WorkflowUpdateFailedError);
    await expect(batch.cancel({ inFlight: 'maybe' as never })).rejects.toThrow(/inFlight must be cancel or finish/);
    expect(await eventsOf(name)).toBe(before);
    expect(await batch.state()).toMatchObject({ window: 2, status: 'running' });
    await batch.cancel();
    await batch.result();
  });

  it('answers an Update with its state afterwards', async () => {
    rig.stub.hold();
    const batch = await startRun(rig.client, (await planRun(rig.folder, 4, { request: { window: 2 } })).request);
    expect(await batch.pause()).toMatchObject({ status: 'paused', items: 4 });
    expect(await batch.setWindow(7)).toMatchObject({ status: 'paused', window: 7 });
    expect(await batch.resume()).toMatchObject({ status: 'running' });
    await until('its jobs are under way', () => rig.stub.count('task/response') >= 4);
    expect(await batch.cancel({ inFlight: 'finish' })).toMatchObject({ status: 'stopping', inFlight: 4 });
    await expect(batch.pause()).rejects.toThrow('The batch is stopping: it starts no more jobs.');
    await expect(batch.resume()).rejects.toThrow(InvalidRequestError);
    expect(await batch.cancel()).toMatchObject({ status: 'stopping' });
    expect(await batch.result()).toMatchObject({ status: 'cancelled', cancelled: 4 });
  });

  it('receives later what it was told while no worker was running', async () => {
    await rig.stopWorker();
    const { request, name } = await planRun(rig.folder, 2);
    const batch = await startRun(rig.client, request);
    expect(await batch.cancel()).toBeUndefined();
    const signals = (await rig.events(name)).flatMap(
      (event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? [],
    );
    expect(signals).toEqual(['batchCancel']);
    await rig.temporal.workflow.getHandle(name).terminate();
  });
});

it('a batch falls back to signals if the server does not accept Updates', async () => {
  rig.stub.hold();
  const refused: Record<string, Refusal> = { UpdateWorkflowExecution: { status: 7, message: 'not allowed' } };
  const proxy = await startTemporalProxy(testTemporalAddress(), refused);
  const connection = await Connection.connect({ address: proxy.address });
  const { request, name } = await planRun(rig.folder, 2);
  const batch = await startRun(rig.client, request);
  try {
    const client = new FileConversionClient({ client: new Client({ connection }), taskQueue: rig.taskQueue });
    expect(await client.getBatch(name).cancel()).toBeUndefined();
    expect(await batch.result()).toMatchObject({ status: 'cancelled' });
  } finally {
    await connection.close();
    await proxy.close();
  }
});
