import { Client, Connection } from '@temporalio/client';
import { registerSearchAttributes } from '../../../src/client/operations/search-attributes';
import { startRig, type ConversionRig } from '../../../test/support/conversion-worker';
import { newNamespace } from '../../../test/support/namespace';
import { answerError, answerRunning } from '../../../test/support/stub-service';
import { testTemporalAddress } from '../../../test/support/temporal';
import { until } from '../../../test/support/until';
import { fileconv, newFolder, removeFolders } from './fileconv';

afterAll(removeFolders);

describe('fileconv app ready, after vCredits were added', () => {
  let rig: ConversionRig;
  let isFunded = false;
  // Of its own: jobs of other tests that are not listed by an app would be told, and counted, too.
  let namespace: string;

  beforeAll(async () => {
    const connection = await Connection.connect({ address: testTemporalAddress() });
    namespace = await newNamespace(new Client({ connection }));
    const client = new Client({ connection, namespace });
    await registerSearchAttributes(client);
    await connection.close();
    rig = await startRig({ app: 'credits-command', temporal: { address: testTemporalAddress(), namespace } });
    rig.stub.on('convert/file', (_seen, response) => {
      if (isFunded) answerRunning(response, 'task');
      else answerError(response, 403, 'INSUFFICIENT_VCREDITS');
    });
  });

  afterAll(() => rig.close());

  async function run(args: readonly string[], temporalAddress: string | undefined = testTemporalAddress()) {
    const env = temporalAddress === '' ? {} : { TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: namespace };
    return fileconv(['app', 'ready', ...args], { cwd: await newFolder(), env });
  }

  it('lets the parked jobs of one app continue, those of no other, and says how many', async () => {
    isFunded = false;
    const handle = await rig.client.start({ source: await rig.source('report.md'), output: 'pdf' });
    await until('it is listed as parked', async () => {
      const query = `WorkflowId = '${handle.workflowId}' AND ConversionStatus = 'parked'`;
      return (await rig.temporal.workflow.count(query)).count === 1;
    });
    isFunded = true;
    const other = await run(['--app', 'embedded']);
    expect(other).toMatchObject({ code: 0, stdout: 'No job of app embedded is parked.\n', stderr: '' });
    expect((await handle.state()).phase).toBe('parked');

    const own = await run(['--app', 'credits-command']);
    expect(own).toMatchObject({ code: 0, stdout: '1 job of app credits-command told to continue.\n', stderr: '' });
    expect(await handle.result()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
  });

  it('prints the same as one JSON document', async () => {
    const { code, stdout, stderr } = await run(['--app', 'embedded', '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      app: 'embedded',
      signalled: 0,
      failed: 0,
      query: expect.stringContaining("ConversionApp = 'embedded'") as string,
    });
  });

  it('refuses an app that nobody knows: a misspelt name would look like nothing to do', async () => {
    const { code, stdout, stderr } = await run(['--app', 'credit-command']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('There is no app profile called "credit-command" here, and no job of such an app.');
  });

  it('says what to type when no stack runs in this folder', async () => {
    const { code, stdout, stderr } = await run([], '');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/No stack runs in .*\.fileconv\. Start it \(fileconv up\)/);
  });

  it('ends with code 1 and one line when Temporal does not answer', async () => {
    const { code, stdout, stderr } = await run([], '127.0.0.1:1');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/127\.0\.0\.1:1/);
  });

  it('is a failure in JSON too when no stack runs', async () => {
    const { code, stdout } = await run(['--json'], '');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'TEMPORAL_UNREACHABLE' } });
  });
});
