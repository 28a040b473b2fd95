import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { FileConversionClient } from '../../../src/client/file-conversion-client';
import { aliveWorkers } from '../../../src/client/operations/task-queue-workers';
import { makeCurrent } from '../../../test/support/deployment';
import { testClient, testTemporalAddress } from '../../../test/support/temporal';
import { until } from '../../../test/support/until';
import { fileconv, newFolder, startProcess, type RunningProcess } from './fileconv';

describe('a worker with a version', () => {
  const deploymentName = `test-${randomUUID()}`;
  let temporal: Client;
  let cwd: string;
  let env: Record<string, string>;
  let worker: RunningProcess | undefined;

  beforeAll(async () => {
    temporal = await testClient();
    cwd = await newFolder();
    env = {
      TEMPORAL_ADDRESS: testTemporalAddress(),
      FILECONV_WORKER_TASK_QUEUE: deploymentName,
      FILECONV_WORKER_DEPLOYMENT_NAME: deploymentName,
    };
  });
  afterAll(async () => {
    worker?.child.kill('SIGTERM');
    await worker?.ended;
    await temporal.connection.close();
  });

  it('says how to make it current, and gets no work before; doctor says so', async () => {
    worker = startProcess(['worker'], { cwd, env: { ...env, FILECONV_WORKER_BUILD_ID: '0.2.0' } });
    await worker.until(
      new RegExp(
        `set-current-version --deployment-name ${deploymentName} --build-id 0.2.0 --address ${testTemporalAddress()} --namespace`,
      ),
    );
    const client = new FileConversionClient({ client: temporal, taskQueue: deploymentName });
    const job = await client.start({ source: '/no/such/file.md', output: 'pdf' });
    await until('it polls', async () => (await aliveWorkers(temporal, deploymentName)).length > 0);
    expect((await job.describe()).historyLength).toBe(2);
    expect((await fileconv(['doctor'], { cwd, env })).stdout).toMatch(
      new RegExp(
        `^broken +workers: .* wait for workers without a version, and it is polled only by build 0\\.2\\.0\n.*: temporal worker deployment set-current-version --deployment-name ${deploymentName} --build-id 0\\.2\\.0 --address `,
        'm',
      ),
    );

    await makeCurrent(temporal, deploymentName, '0.2.0');
    await expect(job.result()).rejects.toMatchObject({ code: 'SOURCE_NOT_FOUND' });
    expect((await fileconv(['doctor'], { cwd, env })).stdout).toMatch(/^ok +workers: 1 on task queue/m);
  });
});
