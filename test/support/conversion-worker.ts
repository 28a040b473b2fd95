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
import { FileConversionPlugin } from '../../src/plugin';
import type { AppProfile, CallbackSettings, FileConversionPluginOptions } from '../../src/plugin-options';
import type { StoresByScheme } from '../../src/storage/stores';
import { defined } from '../../src/job/defined';
import { createConversionWorker } from '../../src/worker';
import { conversionsOf, unreportedConversions } from './invariant';
import { startStubService, stubAppId, stubToken, type StubService } from './stub-service';
import { testTemporalAddress } from './temporal';
import { whileTesting } from './while-testing';

type RequestOverrides = Partial<Omit<ConversionRequest, 'destination'>> & { destination?: string | undefined };
type HistoryEvents = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>;

/** A stub service, a worker in this process and a client, on their own task queue. */
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
  /** A job that converts `report.md` to `out/report.pdf` with quick policies, with overrides. `destination: undefined` leaves it away. */
  request(overrides?: RequestOverrides): Promise<ConversionRequest>;
  /** The current details of a workflow in the Temporal UI. */
  details(workflowId: string): Promise<string>;
  /** The events of a workflow's latest run. */
  events(workflowId: string): Promise<HistoryEvents>;
  /** The scheduled activities, as `uploadFile`. */
  steps(workflowId: string): Promise<string[]>;
  /** Idempotent. */
  stopWorker(): Promise<void>;
  /** @throws if the service ran a conversion that no job of this task queue, or of the others, accounts for. */
  close(otherTaskQueues?: readonly string[]): Promise<void>;
}

/** Retries and polls without the long pauses of production. */
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
  /** Default: not available to callers in other namespaces. */
  nexus?: FileConversionPluginOptions['nexus'];
  /** Default: no notices. */
  notify?: FileConversionPluginOptions['notify'];
  /** Default: jobs that ask for a check command fail. */
  checkCommand?: FileConversionPluginOptions['checkCommand'];
  obeyCommonLimit?: boolean;
  /** Maximum number of concurrent activities. */
  slots?: number;
  /** Default: files of this machine, and what it may read from the web. */
  stores?: StoresByScheme;
  /** Default: the server of this jest run, namespace `default`, no codec. */
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
    // Workflows run in the test's thread: a worker thread takes ten times as long to start as the rest of a rig.
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
      // The SDK leaves it enabled, which would slow down every later promise of this process.
      connection?.callContextStorage.disable();
      await temporal.connection.close();
      await stub.close();
      await rm(folder, { recursive: true, force: true });
      if (unreported.length > 0) throw new Error(unreported.join('\n'));
    },
  };
}

/** A new rig for each test of the file or `describe` that calls this. */
export const rigOfEachTest = (options?: RigOptions): ConversionRig =>
  whileTesting(
    () => startRig(options),
    (rig) => rig.close(),
    { before: beforeEach, after: afterEach },
  );

/** One rig for all of these tests. */
export const rigOfAllTests = (options?: RigOptions): ConversionRig =>
  whileTesting(
    () => startRig(options),
    (rig) => rig.close(),
    { before: beforeAll, after: afterAll },
  );

/** Creates a worker whose workflows run in this thread. Stack traces in jest keep the line numbers of the sources. */
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

/** Prints only the worker's errors, since failures are part of these tests. */
export function installQuietRuntime(logger: Logger = new DefaultLogger('ERROR')): void {
  if (Runtime._instance === undefined) Runtime.install({ logger });
}
