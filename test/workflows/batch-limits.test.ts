import { pathToFileURL } from 'node:url';
import { endBatch, planRun } from '../support/batches';
import type { ConversionRig } from '../support/conversion-worker';
import { startRig } from '../support/conversion-worker';

/** Batches at the limits of a worker, and of what Temporal takes. */

let rig: ConversionRig;
afterEach(() => rig.close());

it('cancelled before it has looked at anything, counts what was done before', async () => {
  rig = await startRig();
  const output = { uri: 'file:///gone', name: 'gone', bytes: 1, sha256: 'a' };
  const done = { source: { bytes: 1, sha256: 'b' }, output };
  const run = await planRun(rig.folder, 5, { change: (row) => (row.item <= 3 ? { ...row, done } : row) });
  await rig.temporal.workflow.signalWithStart('conversionBatch', {
    workflowId: run.name,
    taskQueue: rig.taskQueue,
    args: [{ app: 'stub', folder: `${pathToFileURL(run.folder).href}/`, items: 5 }],
    signal: 'batchCancel',
    signalArgs: [{}],
  });
  const { result } = await endBatch(rig.client.getBatch(run.name), run);
  expect(result).toMatchObject({ status: 'cancelled', skipped: 3, cancelled: 2 });
});
