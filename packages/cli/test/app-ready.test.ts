import { Client, Connection } from '@temporalio/client';
import { registerSearchAttributes } from '../../../src/client/operations/search-attributes';
import { planRun, startRun } from '../../../test/support/batches';
import { quickPolicies, startRig, type ConversionRig } from '../../../test/support/conversion-worker';
import { newNamespace } from '../../../test/support/namespace';
import { testTemporalAddress } from '../../../test/support/temporal';
import { until } from '../../../test/support/until';
import { fileconv, newFolder, parseJson } from './fileconv';

const app = 'app-command';

describe.each(['with', 'without'])('fileconv app ready in a namespace %s search attributes', (attributes) => {
  let rig: ConversionRig;
  // A namespace of our own: jobs of other tests would be signalled and counted too.
  let namespace: string;

  beforeAll(async () => {
    const connection = await Connection.connect({ address: testTemporalAddress() });
    namespace = await newNamespace(new Client({ connection }));
    const client = new Client({ connection, namespace });
    if (attributes === 'with') await registerSearchAttributes(client);
    await connection.close();
    rig = await startRig({ app, temporal: { address: testTemporalAddress(), namespace } });
  });

  afterAll(() => rig.close());

  async function run(...args: string[]) {
    const env = {
      TEMPORAL_ADDRESS: testTemporalAddress(),
      TEMPORAL_NAMESPACE: namespace,
      FILECONV_WORKER_TASK_QUEUE: rig.taskQueue,
    };
    return fileconv(args, { cwd: await newFolder(), env });
  }

  it('resumes the jobs parked because the account was refused, and prints how many', async () => {
    rig.stub.refuse = () => 'FREE_PLAN_DISALLOWED';
    const patient = { ...quickPolicies, retryMaximumInterval: '1 hour' };
    const plan = await planRun(rig.folder, 5, { request: { policies: patient } });
    const batch = await startRun(rig.client, plan.request);
    await until('it is parked', async () => (await batch.state()).needsAttention?.jobs === 5);
    if (attributes === 'with') {
      const listed = `WorkflowId = '${plan.name}' AND ConversionStatus = 'needsAttention'`;
      await until('it is listed', async () => (await rig.temporal.workflow.count(listed)).count === 1);
      const parked = `ConversionApp = '${app}' AND ConversionStatus = 'parked'`;
      await until('its jobs are', async () => (await rig.temporal.workflow.count(parked)).count === 5);
      expect(await run('app', 'ready')).toMatchObject({
        code: 0,
        stdout: 'No job of app embedded is parked.\n',
        stderr: '',
      });
    }
    const { stdout } = await run('batch', 'status', plan.name);
    expect(stdout).toContain('0 of 5, 5 in flight, 5 of them waiting: FREE_PLAN_DISALLOWED.\n');
    expect(stdout).toContain(`continues by itself; at once: fileconv app ready --app ${app}\n`);

    rig.stub.refuse = () => undefined;
    expect(await run('app', 'ready', '--app', app)).toMatchObject({
      code: 0,
      stdout: `5 jobs of app ${app} will try again now.\n`,
      stderr: '',
    });
    expect(await batch.result()).toMatchObject({ succeeded: 5, failed: 0 });
    expect(rig.stub.conversions.size).toBe(5);
    const running = `WorkflowType = 'conversionJob' AND ExecutionStatus = 'Running'`;
    await until('none is listed', async () => (await rig.temporal.workflow.count(running)).count === 0);
  });

  it('prints the same as one JSON document', async () => {
    const { code, stdout, stderr } = await run('app', 'ready', '--app', app, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const query = expect.stringContaining("WorkflowType = 'conversionJob'") as unknown;
    expect(parseJson(stdout)).toEqual({ app, signalled: 0, failed: 0, query });
  });

  if (attributes === 'with') {
    it('refuses an unknown app, because a typo would look like "nothing to do"', async () => {
      const { code, stdout, stderr } = await run('app', 'ready', '--app', 'apps-command');
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('There is no app profile called "apps-command" here, and no job of such an app.');
    });
  }
});
