import { randomBytes, randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { ExternalStorage, StorageDriverClaim, type Payload, type StorageDriver } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Worker, bundleWorkflowCode, type WorkerOptions } from '@temporalio/worker';
import { service, serviceHandler } from 'nexus-rpc';
import packageJson from '../package.json';
import { createEncryptedDataConverter } from '../src/client';
import { inspectJob } from '../src/client/operations/inspect-job';
import { readRun } from '../src/history/job-history';
import { parseEncryptionKeys } from '../src/encryption/encryption-codec';
import { FileConversionPlugin } from '../src/plugin';
import type { FileConversionPluginOptions } from '../src/plugin-options';
import { conversionWorkflowsVersion } from '../src/workflows/version';
import {
  inThisThread,
  installQuietRuntime,
  quickPolicies,
  startRig,
  type ConversionRig,
} from './support/conversion-worker';
import { startStubService, stubAppId, stubToken } from './support/stub-service';
import { testTemporalAddress } from './support/temporal';
import { until } from './support/until';

/** The plugin alone, without workflowsPath or FileConversionClient. */

let rig: ConversionRig;
let connection: NativeConnection;
const ownWorkflows = require.resolve('./support/own-workflows');
const foreignWorkflows = require.resolve('./support/nexus-caller-workflows');
let workflowBundle: { code: string };
const taskQueues: string[] = [];
const warnings: string[] = [];

beforeAll(async () => {
  installQuietRuntime(
    new DefaultLogger('WARN', ({ level, message }) => {
      if (level === 'WARN' && message.includes('conversions')) warnings.push(message);
    }),
  );
  rig = await startRig({ worker: false });
  workflowBundle = await bundleWorkflowCode({ workflowsPath: ownWorkflows, logger: new DefaultLogger('ERROR') });
  connection = await NativeConnection.connect({ address: testTemporalAddress() });
});
beforeEach(() => warnings.splice(0));
afterAll(async () => {
  await connection.close();
  await rig.close(taskQueues);
});

function createPlugin(options: Partial<FileConversionPluginOptions> = {}): FileConversionPlugin {
  const apps = { stub: { baseUrl: rig.stub.url, appId: stubAppId, token: stubToken } };
  return new FileConversionPlugin({ apps, ...options });
}

/** A separate service, for jobs that the rig's cleanup can't decode. */
async function ownStub() {
  const stub = await startStubService();
  const apps = { stub: { baseUrl: stub.url, appId: stubAppId, token: stubToken } };
  return { count: (endpoint: string) => stub.count(endpoint), apps, [Symbol.asyncDispose]: () => stub.close() };
}

async function createWorker(options: Partial<WorkerOptions>): Promise<Worker> {
  const taskQueue = `alone-${randomUUID()}`;
  taskQueues.push(taskQueue);
  return inThisThread(() => Worker.create({ connection, taskQueue, ...options }));
}

/** Starts a job by its type, like a client in any language. */
async function convert({ options: { taskQueue } }: Worker, client: Client): Promise<string> {
  const source = await rig.source(`${randomUUID()}.md`);
  const workflowId = `alone/${randomUUID()}`;
  const input = { app: 'stub', source: { uri: `file://${source}` }, output: 'pdf', policies: quickPolicies };
  await client.workflow.execute('conversionJob', { workflowId, taskQueue, args: [input] });
  return workflowId;
}

const namesTheLine = expect.stringContaining("export * from 'temporal-file-conversion/workflows'") as unknown;

it('a worker with only this plugin converts a file', async () => {
  const worker = await createWorker({ plugins: [createPlugin()] });
  await worker.runUntil(() => convert(worker, rig.temporal));
  expect(warnings).toEqual([]);
});

it('the workflows contain the version of the package', () => {
  const { name, version } = packageJson as { name: string; version: string };
  expect(conversionWorkflowsVersion).toBe(`${name}/workflows ${version}`);
});

it('converts without a workflow cache, so that every task replays its job', async () => {
  const worker = await createWorker({ plugins: [createPlugin()], maxCachedWorkflows: 0 });
  await worker.runUntil(() => convert(worker, rig.temporal));
});

it('works beside a plugin with activities and a Nexus service of its own', async () => {
  const theirs = serviceHandler(service('greetings', {}), {});
  const other = {
    name: 'other',
    configureWorker: (options: WorkerOptions): WorkerOptions => ({
      ...options,
      activities: { ...options.activities, greet: () => Promise.resolve('hello') },
      nexusServices: [...(options.nexusServices ?? []), theirs],
    }),
  };
  const ours = createPlugin({ nexus: { apps: ['stub'] }, workflows: true });
  for (const plugins of [
    [ours, other],
    [other, ours],
  ]) {
    const worker = await createWorker({ plugins });
    expect((worker.options as WorkerOptions).nexusServices?.map(({ definition }) => definition.name).sort()).toEqual([
      'conversion',
      'greetings',
    ]);
    expect([...worker.options.activities.keys()]).toEqual(expect.arrayContaining(['greet', 'conversion.uploadFile']));
    // The other plugin's code joins the workflows.
    await worker.runUntil(() => convert(worker, rig.temporal));
  }
  expect(warnings).toEqual([]);
});

it('a bundle uses the converter of its plugin; a worker with encryption warns about a bundle that leaves failures in plain text', async () => {
  const dataConverter = createEncryptedDataConverter(`k:${randomBytes(32).toString('base64')}`);
  const plugins = [createPlugin({ dataConverter })];
  const bundle = await bundleWorkflowCode({ workflowsPath: ownWorkflows, logger: new DefaultLogger('ERROR'), plugins });
  const { connection: ofClient, options } = rig.temporal;
  const client = new Client({ connection: ofClient, namespace: options.namespace, dataConverter });
  const fail = async (workflowBundle: { code: string }) => {
    const worker = await createWorker({ plugins, workflowBundle });
    taskQueues.pop();
    const { taskQueue } = worker.options;
    const input = { app: 'stub', source: { uri: 'file:///none/secret.md' }, output: 'pdf', policies: quickPolicies };
    const job = await client.workflow.start('conversionJob', { workflowId: taskQueue, taskQueue, args: [input] });
    await worker.runUntil(() => job.result().catch(() => undefined));
    return (await job.fetchHistory()).events?.at(-1)?.workflowExecutionFailedEventAttributes?.failure?.message;
  };
  expect([await fail(bundle), warnings]).toEqual(['Encoded failure', []]);
  expect(await fail(workflowBundle)).toContain('secret.md');
  expect(warnings).toEqual([expect.stringContaining('does not encrypt the messages of failures')]);
});

it('the history of a job can be read even if every payload is in external storage', async () => {
  const stored = new Map<string, Payload>();
  const driver: StorageDriver = {
    name: 'memory',
    type: 'test.memory',
    store: (_context, payloads) =>
      Promise.resolve(
        payloads.map((payload) => {
          const key = randomUUID();
          stored.set(key, payload);
          return new StorageDriverClaim({ key });
        }),
      ),
    retrieve: (_context, claims) =>
      Promise.resolve(claims.map(({ claimData }) => stored.get(claimData['key'] ?? '') ?? {})),
  };
  const dataConverter = { externalStorage: new ExternalStorage({ drivers: [driver], payloadSizeThreshold: 0 }) };
  await using stub = await ownStub();
  const plugin = createPlugin({ dataConverter, apps: stub.apps });
  const client = new Client({ connection: rig.temporal.connection, plugins: [plugin] });
  const worker = await createWorker({ plugins: [plugin] });
  taskQueues.pop();
  const workflowId = await worker.runUntil(() => convert(worker, client));
  expect(stored.size).toBeGreaterThan(5);
  expect(await inspectJob(client, workflowId)).toMatchObject({
    input: { app: 'stub', output: 'pdf' },
    status: 'completed',
    charge: 'yes',
  });
  expect(await readRun(client, await client.workflow.getHandle(workflowId).describe())).toMatchObject({
    charge: { charge: 'yes' },
    result: { status: 'succeeded' },
  });
});

it('gives its data converter to a worker and a client without one', async () => {
  const dataConverter = createEncryptedDataConverter(parseEncryptionKeys(`k1:${randomBytes(32).toString('base64')}`));
  await using stub = await ownStub();
  const plugin = createPlugin({ dataConverter, apps: stub.apps });
  const client = new Client({ connection: rig.temporal.connection, plugins: [plugin] });
  const worker = await createWorker({ plugins: [plugin] });
  taskQueues.pop();
  const workflowId = await worker.runUntil(() => convert(worker, client));
  const { events } = await rig.temporal.workflow.getHandle(workflowId).fetchHistory();
  expect(Buffer.from(JSON.stringify(events)).toString()).not.toContain('stub');
  expect(await client.workflow.getHandle(workflowId).result()).toMatchObject({ status: 'succeeded' });
});

describe('a host without the workflows gets a one-line warning', () => {
  it('for its workflowsPath', async () => {
    const worker = await createWorker({ plugins: [createPlugin()], workflowsPath: foreignWorkflows });
    await worker.runUntil(Promise.resolve());
    expect(warnings).toEqual([namesTheLine]);
  });

  it('for its bundle', async () => {
    const plugin = createPlugin();
    const code = workflowBundle.code.replaceAll(conversionWorkflowsVersion, '');
    const worker = await createWorker({ plugins: [plugin, plugin], workflowBundle: { code } });
    await worker.runUntil(Promise.resolve());
    expect(warnings).toEqual([namesTheLine]);
  });

  it('for a bundle of another version', async () => {
    const code = workflowBundle.code.replaceAll(conversionWorkflowsVersion, 'temporal-file-conversion/workflows 0.0.7');
    const worker = await createWorker({ plugins: [createPlugin()], workflowBundle: { code } });
    await worker.runUntil(Promise.resolve());
    expect(warnings).toEqual([expect.stringContaining('holds temporal-file-conversion/workflows 0.0.7')]);
  });

  it('if it has activities but no workflows at all, unless other workers of its task queue run them', async () => {
    const activities = { mine: () => Promise.resolve() };
    const worker = await createWorker({ plugins: [createPlugin()], activities });
    await worker.runUntil(Promise.resolve());
    expect(warnings).toEqual([namesTheLine]);
    const silent = await createWorker({ plugins: [createPlugin({ workflows: false })], activities });
    await silent.runUntil(Promise.resolve());
    expect(warnings).toHaveLength(1);
    const complete = await createWorker({ plugins: [createPlugin({ workflows: true })], activities });
    await complete.runUntil(() => convert(complete, rig.temporal));
    expect(warnings).toHaveLength(1);
  });

  it('but none if it has them', async () => {
    const own = await createWorker({ plugins: [createPlugin()], workflowsPath: ownWorkflows });
    await own.runUntil(() => convert(own, rig.temporal));
    expect(warnings).toEqual([]);
  });
});

it('closes its connections with `await using`', async () => {
  const plugin = createPlugin();
  const worker = await createWorker({ plugins: [plugin] });
  await worker.runUntil(async () => {
    await convert(worker, rig.temporal);
    expect(await rig.stub.connections()).toBeGreaterThan(0);
    await plugin[Symbol.asyncDispose]();
    await until('they are closed', async () => (await rig.stub.connections()) === 0, 30_000);
  });
});
