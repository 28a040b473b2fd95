import { existsSync } from 'node:fs';
import path from 'node:path';
import { testClient, testTemporalAddress } from '../../../test/support/temporal';
import { startTemporalProxy, type Refusal } from '../../../test/support/temporal-proxy';
import { folderWithPictures } from './batch-pictures';
import { fileconv, linesOf } from './fileconv';

/** What `batch run` prints when Temporal refuses the start of the batch, or its answer is lost. */

async function startThrough(name: string, refusal: Refusal) {
  const proxy = await startTemporalProxy(testTemporalAddress(), { StartWorkflowExecution: refusal });
  const cwd = await folderWithPictures(2);
  try {
    const args = ['batch', 'run', 'in', '--to', 'gif', '--out', 'out', '--name', name];
    const ended = await fileconv(args, { cwd, env: { TEMPORAL_ADDRESS: proxy.address } });
    return { ended, hasRun: existsSync(path.join(cwd, '.fileconv', 'batches', name, 'run-0001')) };
  } finally {
    await proxy.close();
  }
}

it('says that the start is uncertain when the answer was lost, and the batch goes on', async () => {
  const name = `lost-${Date.now()}`;
  const { ended, hasRun } = await startThrough(name, { status: 4, message: 'deadline exceeded', isPassedOn: true });
  expect(ended.code).toBe(3);
  expect(linesOf(ended.stderr).at(-1)).toBe(
    `error: It is not known whether batch ${name} was started: Temporal's answer was lost (4 DEADLINE_EXCEEDED: deadline exceeded). Run the same command again: it watches the batch, or starts it.`,
  );
  expect(hasRun).toBe(false);
  const client = await testClient();
  const handle = client.workflow.getHandle(name);
  expect((await handle.describe()).status.name).toBe('RUNNING');
  await handle.terminate();
  await client.connection.close();
});

it('leaves no run behind when Temporal refused the start', async () => {
  const name = `refused-${Date.now()}`;
  const { ended, hasRun } = await startThrough(name, { status: 7, message: 'not for you' });
  expect(ended.code).toBe(3);
  expect(linesOf(ended.stderr).at(-1)).toBe(
    `error: Temporal has refused to start batch ${name}: 7 PERMISSION_DENIED: not for you`,
  );
  expect(hasRun).toBe(false);
});
