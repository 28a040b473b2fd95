import type { Client } from '@temporalio/client';
import { newNamespace } from '../../../test/support/namespace';
import { testClient, testTemporalAddress } from '../../../test/support/temporal';
import { startTemporalProxy } from '../../../test/support/temporal-proxy';
import { registrationCommands } from '../src/stack/namespace-commands';
import { fileconv, linesOf, newFolder, parseJson } from './fileconv';
import { searchAttributeTypes } from '../../../src/job/search-attribute-types';

/** Indexed by the number in Temporal's API. */
const typeNames = ['', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
const names = Object.keys(searchAttributeTypes);
const refusal = { status: 7, message: 'Request unauthorized.' };

describe('fileconv namespace init', () => {
  let client: Client;
  let cwd: string;
  let env: { TEMPORAL_ADDRESS: string; TEMPORAL_NAMESPACE: string };

  beforeAll(async () => (client = await testClient()));
  beforeEach(async () => {
    cwd = await newFolder();
    env = { TEMPORAL_ADDRESS: testTemporalAddress(), TEMPORAL_NAMESPACE: await newNamespace(client) };
  });
  afterAll(() => client.connection.close());

  const registered = async (namespace: string) =>
    (await client.connection.operatorService.listSearchAttributes({ namespace })).customAttributes;

  const add = (namespace: string, types: Record<string, number>) =>
    client.connection.operatorService.addSearchAttributes({ namespace, searchAttributes: types });

  it('registers every search attribute and lists them; the second time it changes nothing', async () => {
    const first = await fileconv(['namespace', 'init', '--json'], { cwd, env });
    expect(first.code).toBe(0);
    expect(parseJson(first.stdout)).toEqual({ namespace: env.TEMPORAL_NAMESPACE, present: [], added: names });
    const types = await registered(env.TEMPORAL_NAMESPACE);
    expect(names.map((name) => [name, types[name]])).toEqual(
      names.map((name) => [name, typeNames.indexOf(searchAttributeTypes[name] ?? '')]),
    );

    const second = await fileconv(['namespace', 'init'], { cwd, env });
    expect(second.code).toBe(0);
    expect(linesOf(second.stdout).slice(1)).toEqual(
      names.map((name): unknown => expect.stringMatching(`^${name} .*was there$`)),
    );
    expect(second.stderr).toContain('nothing was changed');
  });

  it('sets the retention of closed workflows to 30 days; doctor warns until then', async () => {
    const namespace = env.TEMPORAL_NAMESPACE;
    const doctor = async () => linesOf((await fileconv(['doctor'], { cwd, env })).stdout);
    const command = `temporal operator namespace update --address ${env.TEMPORAL_ADDRESS} --namespace ${namespace} --retention 720h`;
    expect((await doctor()).slice(1, 3)).toEqual([
      `warning  namespace: ${namespace} forgets closed workflows after 1 day, and what they were charged: a job that is asked for again later may be charged again`,
      `         Keep them longer: ${command}`,
    ]);
    const proxy = await startTemporalProxy(env.TEMPORAL_ADDRESS, { UpdateNamespace: refusal });
    const refused = await fileconv(['namespace', 'init'], { cwd, env: { ...env, TEMPORAL_ADDRESS: proxy.address } });
    await proxy.close();
    expect(refused.code).toBe(0);
    expect(linesOf(refused.stderr).at(-1)).toBe(
      `warning: Closed workflows are not kept for 30 days: Request unauthorized. Someone with the right to do this can run: ${command.replace(env.TEMPORAL_ADDRESS, proxy.address)}`,
    );
    expect(linesOf((await fileconv(['namespace', 'init'], { cwd, env })).stderr).at(-1)).toBe(
      `From now on, namespace ${namespace} keeps closed workflows for 30 days.`,
    );
    expect((await doctor())[1]).toBe(`ok       namespace: ${namespace}`);
    expect((await fileconv(['namespace', 'init'], { cwd, env })).stderr).not.toContain('30 days');
  });

  it('names an attribute that exists with another type, and adds nothing', async () => {
    const namespace = env.TEMPORAL_NAMESPACE;
    await add(namespace, { ConversionVCredits: 1 });
    const ended = await fileconv(['namespace', 'init'], { cwd, env });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual([
      expect.stringMatching(/^error: Search attribute ConversionVCredits of namespace \S+ has type Text, not Int\./),
    ]);
    expect(Object.keys(await registered(namespace))).not.toContain('ConversionStatus');
  });

  it('prints the commands to type if the server refuses', async () => {
    const proxy = await startTemporalProxy(env.TEMPORAL_ADDRESS, { AddSearchAttributes: refusal });
    const refusedEnv = { ...env, TEMPORAL_ADDRESS: proxy.address };
    const ended = await fileconv(['namespace', 'init'], { cwd, env: refusedEnv });
    const json = await fileconv(['namespace', 'init', '--json'], { cwd, env: refusedEnv });
    await proxy.close();
    expect(ended.code).toBe(1);
    const options = `--address ${proxy.address} --namespace ${env.TEMPORAL_NAMESPACE}`;
    expect(linesOf(ended.stdout)).toEqual(
      names.map(
        (name) =>
          `temporal operator search-attribute create ${options} --name ${name} --type ${searchAttributeTypes[name] ?? ''}`,
      ),
    );
    expect(linesOf(ended.stderr)).toEqual([expect.stringContaining('Request unauthorized.')]);
    expect(json.code).toBe(1);
    expect(parseJson(json.stdout)).toMatchObject({ error: { code: 'ACCOUNT_REFUSED' } });
  });

  it('accepts attributes that queries can use if the server refuses to list them', async () => {
    await fileconv(['namespace', 'init'], { cwd, env });
    const proxy = await startTemporalProxy(env.TEMPORAL_ADDRESS, { ListSearchAttributes: refusal });
    const ended = await fileconv(['namespace', 'init', '--json'], {
      cwd,
      env: { ...env, TEMPORAL_ADDRESS: proxy.address },
    });
    await proxy.close();
    expect(ended.code).toBe(0);
    expect(parseJson(ended.stdout)).toMatchObject({ present: names, added: [] });
  });

  it("prints Temporal Cloud's own command for a namespace there", () => {
    const [command, ...others] = registrationCommands(
      { address: 'billing.a1b2c.tmprl.cloud:7233', namespace: 'billing.a1b2c' },
      ['ConversionApp', 'ConversionVCredits'],
    );
    expect(others).toEqual([]);
    expect(command).toBe(
      'tcld namespace search-attributes add --namespace billing.a1b2c --search-attribute "ConversionApp=Keyword" --search-attribute "ConversionVCredits=Int"',
    );
  });

  it.each([
    [
      'no such namespace',
      { TEMPORAL_NAMESPACE: 'no-such' },
      2,
      /no namespace no-such.*temporal operator namespace create/,
    ],
    ['no Temporal', { TEMPORAL_ADDRESS: '127.0.0.1:1' }, 1, /can't be reached at 127\.0\.0\.1:1/],
    ['no stack', { TEMPORAL_ADDRESS: '' }, 1, /No stack runs in .*fileconv up/],
  ])('explains the problem in one line: %s', async (_what, variables, code, problem) => {
    const ended = await fileconv(['namespace', 'init'], { cwd, env: { ...env, ...variables } });
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(problem)]);
  });
});
