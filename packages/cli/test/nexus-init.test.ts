import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { testClient, testTemporalAddress } from '../../../test/support/temporal';
import { startTemporalProxy } from '../../../test/support/temporal-proxy';
import { endpointCommand } from '../src/commands/init';
import { fileconv, linesOf, newFolder, parseJson, removeFolders } from './fileconv';

describe('fileconv nexus init', () => {
  let client: Client;
  let cwd: string;
  let endpoint: string;
  const env = { TEMPORAL_ADDRESS: testTemporalAddress(), FILECONV_WORKER_NEXUS_APPS: 'embedded' };

  beforeAll(async () => {
    client = await testClient();
  });
  beforeEach(async () => {
    cwd = await newFolder();
    endpoint = `conversion-${randomUUID()}`;
  });
  afterAll(async () => {
    await client.connection.close();
    await removeFolders();
  });

  const init = (options: readonly string[] = [], variables: Readonly<Record<string, string>> = {}) =>
    fileconv(['nexus', 'init', '--endpoint', endpoint, ...options], { cwd, env: { ...env, ...variables } });
  const targets = async () => {
    const { endpoints } = await client.connection.operatorService.listNexusEndpoints({ name: endpoint });
    return endpoints.map(({ spec }) => ({ ...spec?.target?.worker }));
  };

  it('makes an endpoint to the workers of the configuration, and typed again changes nothing', async () => {
    const first = await init();
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toBe(
      `Endpoint ${endpoint} was made; it leads to task queue file-conversion of namespace default.\n`,
    );
    const second = await init(['--json']);
    expect(second.code).toBe(0);
    const target = { namespace: 'default', taskQueue: 'file-conversion' };
    expect(parseJson(second.stdout)).toEqual({ endpoint, ...target, created: false });
    expect(await targets()).toEqual([target]);
  });

  it('leads where the options say, and changes no endpoint that leads elsewhere', async () => {
    await init(['--namespace', 'default', '--task-queue', 'files']);
    expect(await targets()).toEqual([{ namespace: 'default', taskQueue: 'files' }]);
    const other = await init();
    expect(other).toMatchObject({ code: 1, stdout: '' });
    expect(linesOf(other.stderr)).toEqual([
      `error: Endpoint ${endpoint} leads to task queue files of namespace default. Choose another name (--endpoint), or change it: temporal operator nexus endpoint update --address ${env.TEMPORAL_ADDRESS} --name ${endpoint} --target-namespace default --target-task-queue file-conversion`,
    ]);
    expect(await targets()).toEqual([{ namespace: 'default', taskQueue: 'files' }]);
  });

  it.each(['CreateNexusEndpoint', 'ListNexusEndpoints'])(
    'prints the command to type where the server refuses %s',
    async (method) => {
      const proxy = await startTemporalProxy(env.TEMPORAL_ADDRESS, {
        [method]: { status: 7, message: 'Request unauthorized.' },
      });
      const ended = await init([], { TEMPORAL_ADDRESS: proxy.address });
      const json = await init(['--json'], { TEMPORAL_ADDRESS: proxy.address });
      await proxy.close();
      expect(ended.code).toBe(1);
      const target = '--target-namespace default --target-task-queue file-conversion';
      expect(linesOf(ended.stdout)).toEqual([
        `temporal operator nexus endpoint create --address ${proxy.address} --name ${endpoint} ${target}`,
      ]);
      expect(linesOf(ended.stderr)).toEqual([expect.stringContaining('Request unauthorized.')]);
      expect(json.code).toBe(1);
      expect(parseJson(json.stdout)).toMatchObject({ error: { code: 'ACCOUNT_REFUSED' } });
    },
  );

  it("prints Temporal Cloud's own command for one of its namespaces", () => {
    const target = { namespace: 'billing.a1b2c', taskQueue: 'files' };
    expect(endpointCommand('create', 'billing.a1b2c.tmprl.cloud:7233', 'conversion', target)).toBe(
      'tcld nexus endpoint create --name conversion --target-namespace billing.a1b2c --target-task-queue files --allow-namespace CALLERS_NAMESPACE',
    );
  });

  it('warns while callers may use no app', async () => {
    const { code, stderr } = await init([], { FILECONV_WORKER_NEXUS_APPS: '' });
    expect([code, linesOf(stderr)]).toEqual([0, [expect.stringMatching(/^warning: .*nexus_apps/)]]);
  });

  it.each([
    ['a namespace that there is not', ['--namespace', 'no-such'], {}, 2, /no-such/],
    ['a name that none can have', ['--endpoint', 'not a name'], {}, 2, /Correct --endpoint/],
    ['no Temporal', [], { TEMPORAL_ADDRESS: '127.0.0.1:1' }, 1, /can't be reached at 127\.0\.0\.1:1/],
  ])('says in one line what is wrong: %s', async (_what, options, variables, code, problem) => {
    const ended = await init(options, variables);
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(problem)]);
  });
});

describe('fileconv worker', () => {
  it('ends with 2 when callers are to use an app that it does not have', async () => {
    const cwd = await newFolder();
    const env = { TEMPORAL_ADDRESS: testTemporalAddress(), FILECONV_WORKER_NEXUS_APPS: 'embedded, payroll' };
    const ended = await fileconv(['worker'], { cwd, env });
    expect(ended.code).toBe(2);
    expect(linesOf(ended.stderr).at(-1)).toBe(
      'error: worker.nexus_apps names payroll, which this worker does not have; it has: embedded.',
    );
    await removeFolders();
  });
});
