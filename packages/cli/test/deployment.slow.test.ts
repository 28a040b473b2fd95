import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { FileConversionClient } from '../../../src/client/file-conversion-client';
import { aliveWorkers } from '../../../src/client/operations/task-queue-workers';
import { testClient, testTemporalAddress } from '../../../test/support/temporal';
import { until } from '../../../test/support/until';
import { fileconv, newFolder, parseJson, removeFolders, startProcess, type RunningProcess } from './fileconv';

describe('fileconv deployment', () => {
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
    await removeFolders();
  });

  const deployment = (...args: string[]) => fileconv(['deployment', ...args], { cwd, env });

  it('says of a deployment without any version what gets the work, and changes nothing', async () => {
    expect((await deployment('show')).stdout).toContain('workers without one get all work');
    expect(parseJson((await deployment('show', '--json')).stdout)).toEqual({ deploymentName, versions: [] });
    const { code, stderr } = await deployment('set-current', '0.2.0');
    expect(code).toBe(1);
    expect(stderr).toContain('Start a worker of that version first');
  });

  it('gives new work to the worker whose version is made the current one, and to no other', async () => {
    worker = startProcess(['worker'], { cwd, env: { ...env, FILECONV_WORKER_BUILD_ID: '0.2.0' } });
    await worker.until(/It is build 0\.2\.0 .*: fileconv deployment set-current 0\.2\.0/);
    const client = new FileConversionClient({ client: temporal, taskQueue: deploymentName });
    const job = await client.start({ source: '/no/such/file.md', output: 'pdf' });
    await until('the version is known', async () => (await deployment('show')).stdout.includes('0.2.0'));
    expect((await deployment('show')).stdout).toContain('Workers without a version get new work.');
    expect((await job.describe()).historyLength).toBe(2);
    await until('it polls', async () => (await aliveWorkers(temporal, deploymentName)).length > 0);
    const before = await fileconv(['doctor'], { cwd, env });
    expect(before.stdout).toMatch(
      /^broken +workers: .* wait for workers without a version, and only build 0\.2\.0 polls/m,
    );

    const { stdout } = await deployment('set-current', '0.2.0');
    expect(stdout).toMatch(/^0\.2\.0 +current +gets new work/m);
    await expect(job.result()).rejects.toMatchObject({ code: 'SOURCE_NOT_FOUND' });
    expect((await fileconv(['doctor'], { cwd, env })).stdout).toMatch(/^ok +workers: 1 on task queue/m);
  });

  it('refuses to give work to a version that no worker has', async () => {
    const { code, stderr } = await deployment('ramp', '0.3.0', '5');
    expect(code).toBe(1);
    expect(stderr).toContain(`Deployment ${deploymentName} was not changed:`);
  });

  it('gives new work back to workers without a version', async () => {
    const { stdout } = await deployment('set-current', '--unversioned', '--json');
    expect(parseJson(stdout)).toMatchObject({ deploymentName, versions: [{ buildId: '0.2.0' }] });
    expect(parseJson(stdout)).not.toHaveProperty('current');
  });

  it('gives a share of new work to a version, and takes it away again', async () => {
    expect((await deployment('ramp', '0.2.0', '5')).stdout).toMatch(/^0\.2\.0 +ramping 5 % +gets a share/m);
    expect((await deployment('ramp', '0.2.0', '0')).stdout).not.toContain('ramping');
  });

  it.each([
    ['set-current', 'Name a build id or --unversioned'],
    ['set-current 0.2.0 --unversioned', 'Name a build id or --unversioned'],
    ['ramp 0.2.0 101', 'from 0 to 100'],
  ])('refuses %s', async (args, message) => {
    const { code, stderr } = await deployment(...args.split(' '));
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
