import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime, type Logger, type Worker } from '@temporalio/worker';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import type { ConversionRequest } from '../../src/client/job-request';
import type { ApiTimeouts } from '../../src/http/conversion-api';
import {
  FileConversionPlugin,
  type AppProfile,
  type CallbackSettings,
  type FileConversionPluginOptions,
} from '../../src/plugin';
import type { StoresByScheme } from '../../src/storage/stores';
import { defined } from '../../src/job/defined';
import { createConversionWorker } from '../../src/worker';
import { conversionsOf, unreportedConversions } from './invariant';
import { startStubService, stubAppId, stubToken, type StubService } from './stub-service';
import { testTemporalAddress } from './temporal';
import { whileTesting } from './while-testing';

type RequestOverrides = Partial<Omit<ConversionRequest, 'destination'>> & { destination?: string | undefined };
type HistoryEvents = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>;

/** A stub service, a worker in this process and a client, on a task queue of their own. */
export interface ConversionRig {
  stub: StubService;
  temporal: Client;
  client: FileConversionClient;
  taskQueue: string;
  app: string;
  /** A folder of this rig, removed with it. */
  folder: string;
  /** Writes a source file into the folder and returns its path. */
  source(name: string, contents?: string | Buffer): Promise<string>;
  /** A job that makes `out/report.pdf` of `report.md` with quick policies, but for what is given; without a destination when that is undefined. */
  request(overrides?: RequestOverrides): Promise<ConversionRequest>;
  /** What a workflow tells in the Temporal UI as it runs. */
  details(workflowId: string): Promise<string>;
  /** The events of a workflow's newest run. */
  events(workflowId: string): Promise<HistoryEvents>;
  /** The activities that it has asked for, as `uploadFile`. */
  steps(workflowId: string): Promise<string[]>;
  /** A second call changes nothing. */
  stopWorker(): Promise<void>;
  /** Throws when the service ran a conversion that no job owns up to, of this task queue or others that a test used. */
  close(otherTaskQueues?: readonly string[]): Promise<void>;
}

/** Retries and polls without the pauses that production wants. */
export const quickPolicies = {
  firstCheckAfter: 20,
  maxCheckInterval: 200,
  retryInitialInterval: 50,
  retryMaximumInterval: 200,
} as const;

export interface RigOptions {
  worker?: boolean;
  timeouts?: Partial<ApiTimeouts>;
  app?: string;
  /** Default: the stub's token. */
  token?: Pick<AppProfile, 'token' | 'tokenFile'>;
  callbacks?: CallbackSettings;
  /** Default: callers of other namespaces can't reach it. */
  nexus?: FileConversionPluginOptions['nexus'];
  /** Default: nobody is told of anything. */
  notify?: FileConversionPluginOptions['notify'];
  /** Default: jobs that ask for it fail. */
  checkCommand?: FileConversionPluginOptions['checkCommand'];
  obeyCommonLimit?: boolean;
  /** Activities at a time. */
  slots?: number;
  /** Default: files of this machine, and what it may read of the web. */
  stores?: StoresByScheme;
  /** Default: the server of this jest run, its namespace `default`, and payloads as they are. */
  temporal?: { address: string; namespace: string; dataConverter?: DataConverter };
}

export async function startRig(options: RigOptions = {}): Promise<ConversionRig> {
  installQuietRuntime();
  const { app = 'stub' } = options;
  const stub = await startStubService();
  const { address, ...target } = options.temporal ?? { address: testTemporalAddress(), namespace: 'default' };
  const temporal = new Client({ connection: await Connection.connect({ address }), ...target });
  const taskQueue = `test-${randomUUID()}`;
  const folder = await mkdtemp(path.join(tmpdir(), 'fileconv-test-'));
  const plugin = new FileConversionPlugin({
    apps: { [app]: { baseUrl: stub.url, appId: stubAppId, ...(options.token ?? { token: stubToken }) } },
    ...(options.timeouts && { timeouts: options.timeouts }),
    ...(options.callbacks && { callbacks: options.callbacks }),
    ...(options.stores && { stores: options.stores }),
    ...(options.nexus && { nexus: options.nexus }),
    ...(options.notify && { notify: options.notify }),
    ...(options.checkCommand && { checkCommand: options.checkCommand }),
  });
  let connection: NativeConnection | undefined;
  let worker: Worker | undefined;
  let running: Promise<void> | undefined;
  if (options.worker !== false) {
    const native = await NativeConnection.connect({ address });
    connection = native;
    // Workflows run in the thread of the test: a thread of their own takes ten times as long to start as the rest of a rig.
    worker = await inThisThread(() =>
      createConversionWorker({
        connection: native,
        plugin,
        taskQueue,
        ...target,
        shutdownGraceMs: 1_000,
        ...(options.slots !== undefined && { maxConcurrentActivities: options.slots }),
        ...(options.obeyCommonLimit && { obeyCommonLimit: true }),
      }),
    );
    running = worker.run();
  }
  const stopWorker = async () => {
    worker?.shutdown();
    worker = undefined;
    await running;
  };
  const source = async (name: string, contents: string | Buffer = '# A report\n') => {
    const file = path.join(folder, name);
    await writeFile(file, contents);
    return file;
  };
  const events = async (workflowId: string) =>
    (await temporal.workflow.getHandle(workflowId).fetchHistory()).events ?? [];
  return {
    stub,
    temporal,
    taskQueue,
    app,
    folder,
    client: new FileConversionClient({ client: temporal, taskQueue, app }),
    source,
    async request(overrides = {}) {
      const destination = path.join(folder, 'out', 'report.pdf');
      const usual = { source: await source('report.md'), output: 'pdf', destination };
      return defined({ ...usual, ...overrides, policies: { ...quickPolicies, ...overrides.policies } });
    },
    details: async (workflowId) => {
      const handle = temporal.workflow.getHandle(workflowId);
      return (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
    },
    events,
    steps: async (workflowId) =>
      (await events(workflowId)).flatMap(
        ({ activityTaskScheduledEventAttributes: asked }) => asked?.activityType?.name?.split('.')[1] ?? [],
      ),
    stopWorker,
    async close(otherTaskQueues = []) {
      await stopWorker();
      const taskQueues = [taskQueue, ...otherTaskQueues];
      const unreported = await unreportedConversions(conversionsOf(stub), { client: temporal, taskQueues });
      await connection?.close();
      // The SDK leaves it enabled, which every later promise of this process would pay for.
      connection?.callContextStorage.disable();
      await temporal.connection.close();
      await stub.close();
      await rm(folder, { recursive: true, force: true });
      if (unreported.length > 0) throw new Error(unreported.join('\n'));
    },
  };
}

/** A rig of its own for each test of the file, or of the `describe`, that calls this. */
export const rigOfEachTest = (options?: RigOptions): ConversionRig =>
  whileTesting(
    () => startRig(options),
    (rig) => rig.close(),
    { before: beforeEach, after: afterEach },
  );

/** One rig for all of them. */
export const rigOfAllTests = (options?: RigOptions): ConversionRig =>
  whileTesting(
    () => startRig(options),
    (rig) => rig.close(),
    { before: beforeAll, after: afterAll },
  );

/** Creates a worker whose workflows run in this thread; the lines of a stack that jest shows stay those of the sources. */
export async function inThisThread(create: () => Promise<Worker>): Promise<Worker> {
  const traces = Error as { prepareStackTrace?: (error: unknown, frames: NodeJS.CallSite[]) => unknown };
  const { prepareStackTrace: ofTests } = traces;
  process.env['TEMPORAL_DEBUG'] = '1';
  const worker = await create().finally(() => delete process.env['TEMPORAL_DEBUG']);
  const { prepareStackTrace: ofWorkflows } = traces;
  if (ofTests && ofWorkflows && ofTests !== ofWorkflows) {
    traces.prepareStackTrace = (error, frames) => (error instanceof Error ? ofTests : ofWorkflows)(error, frames);
  }
  return worker;
}

/** Expected failures are part of these tests; only what the worker calls an error is printed. */
export function installQuietRuntime(logger: Logger = new DefaultLogger('ERROR')): void {
  if (Runtime._instance === undefined) Runtime.install({ logger });
}
