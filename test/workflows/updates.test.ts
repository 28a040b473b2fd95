import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { Client, Connection, WorkflowUpdateFailedError } from '@temporalio/client';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { InvalidRequestError } from '../../src/client/job-request';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import type { StartOptions } from '../../src/client/start-options';
import { planRun, startRun } from '../support/batches';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { conversionsOf } from '../support/invariant';
import { answerError } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { startTemporalProxy, type Refusal } from '../support/temporal-proxy';
import { until } from '../support/until';

const rig = rigOfEachTest();

async function eventsOf(workflowId: string): Promise<number> {
  return (await rig.temporal.workflow.getHandle(workflowId).describe()).historyLength;
}

describe('a batch', () => {
  it('refuses what it cannot do, names the limit, and writes nothing of it into its history', async () => {
    rig.stub.hold();
    const { request, name } = await planRun(rig.folder, 4, { request: { window: 2 } });
    const batch = await startRun(rig.client, request);
    await until('its jobs are under way', () => rig.stub.count('task/response') >= 2);
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
    const { request } = await planRun(rig.folder, 4, { request: { window: 2 } });
    const batch = await startRun(rig.client, request);
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

  it('hears later what it was told while no worker ran', async () => {
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

it('a batch is told by signals where the server takes no Update', async () => {
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

describe('a start that waits until the service has taken the conversion', () => {
  async function start(options: Omit<StartOptions, 'startDelay'> = {}, request: { onExisting?: 'skip' } = {}) {
    return rig.client.startAndWaitForAccepted(await rig.request(request), options);
  }

  it('returns with the task while the conversion runs', async () => {
    rig.stub.hold();
    const { job, acceptance } = await start();
    expect(await job.state()).toMatchObject({ phase: 'converting' });
    rig.stub.asAlways('task/response');
    const { taskId } = await job.result();
    expect(acceptance).toEqual({ status: 'accepted', taskId });
  });

  it('rejects what the service refuses after one submit, without a poll', async () => {
    rig.stub.on('convert/file', (_seen, response) => answerError(response, 400, 'INVALID_CONVERT_FORMAT'));
    await expect(start()).rejects.toMatchObject({
      constructor: ConversionFailedError,
      code: 'INVALID_CONVERT_FORMAT',
      details: { phase: 'submitting', charge: 'no' },
    });
    expect([rig.stub.count('convert/file'), rig.stub.count('task/response')]).toEqual([1, 0]);
  });

  it('rejects a job that cannot begin', async () => {
    const started = rig.client.startAndWaitForAccepted({
      source: path.join(rig.folder, 'missing.md'),
      output: 'pdf',
      policies: { conversionDeadline: '5 parsecs' },
    });
    await expect(started).rejects.toMatchObject({ code: 'INVALID_JOB' });
    const missing = { source: path.join(rig.folder, 'missing.md'), output: 'pdf', policies: quickPolicies };
    await expect(rig.client.startAndWaitForAccepted(missing)).rejects.toMatchObject({ code: 'SOURCE_NOT_FOUND' });
  });

  it('takes no delay, which Temporal does not have for it', async () => {
    // @ts-expect-error The server refuses it.
    await expect(start({ startDelay: '1 hour' })).rejects.toThrow(/StartDelay is not supported/);
  });

  it('says that a job was skipped, which asks the service for nothing', async () => {
    const { job } = await start();
    await job.result();
    const submits = conversionsOf(rig.stub).length;
    expect((await start({}, { onExisting: 'skip' })).acceptance).toEqual({ status: 'skipped' });
    expect(conversionsOf(rig.stub)).toHaveLength(submits);
  });

  it('waits while the job is parked for vCredits, and rejects when it is cancelled', async () => {
    rig.stub.on('convert/file', (_seen, response) => answerError(response, 403, 'INSUFFICIENT_VCREDITS'));
    const workflowId = `parked-${randomUUID()}`;
    const started = start({ workflowId });
    const job = rig.client.get(workflowId);
    await until('it is parked', async () => (await job.state().catch(() => undefined))?.phase === 'parked');
    rig.stub.asAlways('convert/file');
    expect(await job.appReady()).toMatchObject({ phase: 'parked' });
    expect((await started).acceptance.status).toBe('accepted');
    await job.cancel();
    await expect(job.result()).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('rejects as cancelled when the job is cancelled before', async () => {
    rig.stub.on('convert/file', (_seen, response) => answerError(response, 403, 'INSUFFICIENT_VCREDITS'));
    const workflowId = `parked-${randomUUID()}`;
    const started = start({ workflowId });
    const rejected = expect(started).rejects.toMatchObject({ constructor: ConversionFailedError, code: 'CANCELLED' });
    const job = rig.client.get(workflowId);
    await until('it is parked', async () => (await job.state().catch(() => undefined))?.phase === 'parked');
    await job.cancel();
    await rejected;
  });

  it('gives all that attach to one job the same task', async () => {
    rig.stub.hold();
    const workflowId = `shared-${randomUUID()}`;
    const all = await Promise.all(Array.from({ length: 5 }, () => start({ workflowId })));
    expect(new Set(all.map(({ acceptance }) => JSON.stringify(acceptance))).size).toBe(1);
    expect(conversionsOf(rig.stub)).toHaveLength(1);
    rig.stub.asAlways('task/response');
    await rig.client.get(workflowId).result();
  });
});
