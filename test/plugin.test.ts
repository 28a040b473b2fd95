import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { WorkerOptions, WorkerPlugin } from '@temporalio/worker';
import { NativeConnection, Worker, bundleWorkflowCode } from '@temporalio/worker';
import { service, serviceHandler } from 'nexus-rpc';
import { FileConversionClient } from '../src/client/file-conversion-client';
import { FileConversionPlugin } from '../src/plugin';
import type { FileConversionPluginOptions } from '../src/plugin-options';
import { createConversionWorker } from '../src/worker';
import { inThisThread, quickPolicies, startRig, type ConversionRig } from './support/conversion-worker';
import type { HostActivities } from './support/host-workflows';
import { stubAppId, stubToken } from './support/stub-service';
import { testTemporalAddress } from './support/temporal';
import { until } from './support/until';

/** The plugin as a guest in somebody else's worker. */

let rig: ConversionRig;
let connection: NativeConnection;
let workflowBundle: { code: string };
const taskQueues: string[] = [];

beforeAll(async () => {
  rig = await startRig({ worker: false });
  connection = await NativeConnection.connect({ address: testTemporalAddress() });
  const logger = { log: nothing, trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };
  workflowBundle = await bundleWorkflowCode({ workflowsPath: require.resolve('./support/host-workflows'), logger });
});

afterAll(async () => {
  await connection.close();
  await rig.close(taskQueues);
});

const nothing = () => undefined;

function createPlugin(options: Pick<FileConversionPluginOptions, 'callbacks' | 'nexus'> = {}): FileConversionPlugin {
  const apps = { stub: { baseUrl: rig.stub.url, appId: stubAppId, token: stubToken } };
  return new FileConversionPlugin({ apps, ...options });
}

let mayEnd = false;
const hostActivities: HostActivities = {
  async beatUntilTold() {
    Context.current().heartbeat('it beats');
    await until('it may end', () => mayEnd);
    return 'ended';
  },
};

function createHost(plugins: WorkerPlugin[]): Promise<Worker> {
  const taskQueue = `host-${randomUUID()}`;
  taskQueues.push(taskQueue);
  const activities = { ...hostActivities };
  return inThisThread(() => Worker.create({ connection, taskQueue, workflowBundle, activities, plugins }));
}

it("runs a host's own workflow and activity, whose heartbeats reach the server", async () => {
  const host = await createHost([createPlugin()]);
  const { taskQueue } = host.options;
  await host.runUntil(async () => {
    const workflow = await rig.temporal.workflow.start('hostWorkflow', { workflowId: taskQueue, taskQueue });
    await until('a heartbeat is recorded', async () => {
      const [activity] = (await workflow.describe()).raw.pendingActivities ?? [];
      return Buffer.from(activity?.heartbeatDetails?.payloads?.[0]?.data ?? []).toString() === '"it beats"';
    });
    mayEnd = true;
    expect(await workflow.result()).toBe('ended');
  });
});

it("passes on a host's options as the same objects, except activities and interceptors", () => {
  const activityInterceptor = () => ({});
  const options: WorkerOptions = {
    connection,
    namespace: 'default',
    taskQueue: 'host',
    identity: 'host',
    workflowBundle,
    activities: { ...hostActivities },
    dataConverter: { payloadCodecs: [] },
    interceptors: { activity: [activityInterceptor], nexus: [], workflowModules: ['a'] },
    sinks: {},
    plugins: [],
    bundlerOptions: { ignoreModules: ['b'] },
  };
  const { activities, interceptors, ...others } = createPlugin().configureWorker({ ...options });
  const { activities: hosts, interceptors: hostInterceptors, ...before } = options;
  expect(Object.keys(others).sort()).toEqual(Object.keys(before).sort());
  expect(Object.entries(before).filter(([name, value]) => others[name as keyof typeof others] !== value)).toEqual([]);
  const strange = Object.keys(activities ?? {}).filter((name) => !name.startsWith('conversion.'));
  expect(strange).toEqual(Object.keys(hosts ?? {}));
  expect(interceptors?.activity?.[0]).toBe(activityInterceptor);
  expect(interceptors?.nexus).toBe(hostInterceptors?.nexus);
  expect(interceptors?.workflowModules).toBe(hostInterceptors?.workflowModules);
});

it("serves Nexus if it is told to, once and beside a host's own services, and otherwise leaves them alone", () => {
  const hosts = serviceHandler(service('greetings', {}), {});
  const options: WorkerOptions = { connection, taskQueue: 'host', workflowBundle, nexusServices: [hosts] };
  expect(createPlugin().configureWorker(options).nexusServices).toBe(options.nexusServices);
  expect(createPlugin().configureWorker({ connection, taskQueue: 'host' })).not.toHaveProperty('nexusServices');
  const plugin = createPlugin({ nexus: { apps: ['stub'] } });
  const names = plugin
    .configureWorker(plugin.configureWorker(options))
    .nexusServices?.map(({ definition }) => definition.name);
  expect(names).toEqual(['greetings', 'conversion']);
});

const profile = { baseUrl: 'https://api.example', appId: stubAppId, token: stubToken };
const key = randomUUID();
const { publicKey } = generateKeyPairSync('ed25519');
const baseUrlProblem = 'must be an http or https URL without a password, "?" and "#"';

it.each([
  [undefined, 'Invalid input: expected object, received undefined'],
  [{}, 'apps: Invalid input: expected record'],
  [{ apps: {}, sharedfiles: true }, 'Unrecognized key: "sharedfiles"'],
  [{ apps: { stub: { ...profile, baseUrl: '' } } }, `apps.stub.baseUrl: ${baseUrlProblem}`],
  [{ apps: { stub: { ...profile, baseURL: 'https://x.example' } } }, 'apps.stub: Unrecognized key: "baseURL"'],
  [{ apps: { stub: { ...profile, appId: ' ' } } }, 'apps.stub.appId: must be one word of ASCII'],
  [{ apps: { stub: { ...profile, appId: undefined } } }, 'apps.stub.appId: Invalid input: expected string'],
  [{ apps: { stub: { ...profile, token: '' } } }, 'apps.stub.token: must be one word of ASCII'],
  [{ apps: { stub: { ...profile, token: 'two words' } } }, 'apps.stub.token: must be one word of ASCII'],
  [{ apps: { stub: { ...profile, token: 7 } } }, 'apps.stub.token: must be a text or a function'],
  [{ apps: { stub: { ...profile, token: undefined } } }, 'apps.stub: needs token or tokenFile'],
  [{ apps: { stub: { ...profile, tokenFile: '/etc/token' } } }, 'apps.stub: has both token and tokenFile'],
  [
    { apps: { stub: { ...profile, callbackBaseUrl: 'https://hooks.example' } } },
    'apps.stub.callbackBaseUrl: needs callbacks.key',
  ],
  [{ callbacks: { key: undefined, publicBaseUrl: 'https://hooks.example' } }, 'callbacks.key: must be a text'],
  [{ callbacks: { key: publicKey } }, 'callbacks.key: must be a text or a secret KeyObject'],
  [{ callbacks: { key: 'too-short' } }, 'callbacks.key: a callback key has at least 32 characters'],
  [{ callbacks: { key, publicBaseUrl: 'hooks.example' } }, `callbacks.publicBaseUrl: ${baseUrlProblem}`],
  [{ callbacks: { key, callbackBaseURL: 'https://x.example' } }, 'callbacks: Unrecognized key: "callbackBaseURL"'],
  [{ timeouts: { connect: 1 } }, 'timeouts: Unrecognized key: "connect"'],
  [{ timeouts: { bodyMs: '5s' } }, 'timeouts.bodyMs: Invalid input: expected number'],
  [{ stores: { gs: null } }, 'stores.gs: must be an object'],
  [{ sharedFiles: 'no' }, 'sharedFiles: Invalid input: expected boolean'],
  [{ checkCommand: { argv: [] } }, 'checkCommand.argv'],
  [{ stateDir: '' }, 'stateDir: Too small'],
  [{ nexus: {} }, 'nexus.apps: Invalid input: expected array'],
  [{ nexus: { apps: ['stub', 'payroll'] } }, 'nexus.apps: names payroll, but apps has only: stub'],
  [{ notify: { url: 'ftp://listener.example/' } }, 'notify.url: must be an http or https URL'],
  [{ notify: { url: 'https://user:password@listener.example/' } }, 'notify.url: must be an http or https URL'],
  [{ notify: { secret: 'whsec_c2hvcnQ=' } }, 'notify.secret: must be whsec_'],
  [{ notify: { events: ['batch.begun'] } }, 'notify.events.0: Invalid option'],
])('rejects %j before a worker starts, instead of failing each job', (options, problem) => {
  const given: object | undefined =
    options && Object.keys(options).length > 0 && !('apps' in options)
      ? { apps: { stub: profile }, ...options }
      : options;
  const create = () => new FileConversionPlugin(given as never);
  expect(create).toThrow(TypeError);
  expect(create).toThrow(`These options of FileConversionPlugin can't be used. ${problem}`);
  expect(create).not.toThrow(/password@|two words|too-short|whsec_c2h/);
});

it('rejects a second plugin on one worker, whose apps the first would not know, but accepts itself', () => {
  const [one, other] = [createPlugin(), createPlugin()];
  const options = one.configureWorker({ taskQueue: 'q', workflowBundle });
  expect(() => other.configureWorker(options)).toThrow('another FileConversionPlugin already');
  expect(() => one.configureWorker(options)).not.toThrow();
});

it("leaves a host's heartbeat throttle, sticky queue, grace period and workflow time limit unchanged; a conversion worker has its own", async () => {
  const hosts = await Promise.all([createHost([]), createHost([createPlugin()])]);
  const own = await inThisThread(() =>
    createConversionWorker({ connection, plugin: createPlugin(), taskQueue: `own-${randomUUID()}` }),
  );
  const told = [...hosts, own].map(({ options }) => [
    options.maxHeartbeatThrottleIntervalMs,
    options.defaultHeartbeatThrottleIntervalMs,
    options.stickyQueueScheduleToStartTimeoutMs,
    options.shutdownGraceTimeMs,
    options.isolateExecutionTimeoutMs,
  ]);
  for (const each of [...hosts, own]) await each.runUntil(Promise.resolve());
  expect(told[1]).toEqual(told[0]);
  expect(told[2]).toEqual([2_000, told[0]?.[1], 2_000, 30_000, 86_400_000]);
});

it('closes its connections with the last worker that uses it, and reopens them for a later one', async () => {
  const plugin = createPlugin();
  const convert = async ({ options: { taskQueue } }: Worker) => {
    const client = new FileConversionClient({ client: rig.temporal, taskQueue, app: 'stub' });
    return client.convert({ source: await rig.source(`${randomUUID()}.md`), output: 'pdf', policies: quickPolicies });
  };
  const [first, second] = await Promise.all([createHost([plugin]), createHost([plugin])]);
  await second.runUntil(async () => {
    await first.runUntil(convert(first));
    expect(await rig.stub.connections()).toBeGreaterThan(0);
    await expect(convert(second)).resolves.toMatchObject({ status: 'succeeded' });
  });
  await until('the connections are closed', async () => (await rig.stub.connections()) === 0, 30_000);
  const later = await createHost([plugin]);
  await expect(later.runUntil(convert(later))).resolves.toMatchObject({ status: 'succeeded' });
  await until('they are closed again', async () => (await rig.stub.connections()) === 0, 30_000);
});

it('lets a worker be forced to end while a request is in flight', async () => {
  let held: (() => void) | undefined;
  rig.stub.on('upload/file', (seen, response) => void (held = () => rig.stub.answerAsAlways(seen, response)));
  const plugin = createPlugin();
  let running: Promise<void> = Promise.resolve();
  const forced: WorkerPlugin = {
    name: 'forced',
    runWorker: async (worker, next) => {
      running = next(worker);
      await until('an upload is under way', () => held !== undefined);
      throw new Error('forced to end');
    },
  };
  const host = await createHost([plugin, forced]);
  const client = new FileConversionClient({ client: rig.temporal, taskQueue: host.options.taskQueue, app: 'stub' });
  const job = await client.start({ source: await rig.source(`${randomUUID()}.md`), output: 'pdf' });
  await expect(host.run()).rejects.toThrow('forced to end');
  held?.();
  rig.stub.asAlways('upload/file');
  await expect(job.result()).resolves.toMatchObject({ status: 'succeeded' });
  host.shutdown();
  await running;
});
