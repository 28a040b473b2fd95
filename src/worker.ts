import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { DataConverter, WorkerDeploymentVersion } from '@temporalio/common';
import { Worker, type NativeConnection, type WorkerOptions, type WorkerPlugin } from '@temporalio/worker';
import { z } from 'zod';
import { encodedFailuresPath } from './encryption/data-converter';
import type { FileConversionPlugin } from './plugin';
import { defaultTaskQueue } from './shared/names';

export { FileConversionPlugin } from './plugin';
export type { AppProfile, CallbackSettings, FileConversionPluginOptions } from './plugin';

export interface ConversionWorkerOptions {
  connection: NativeConnection;
  plugin: FileConversionPlugin;
  /** Default: `default`. */
  namespace?: string;
  /** Default: `file-conversion`. */
  taskQueue?: string;
  /** The same as the clients', for example `createEncryptedDataConverter(keys)`. Default: unencrypted payloads. */
  dataConverter?: DataConverter;
  /** Maximum concurrent activities, and so concurrent transfers. Default: 100. */
  maxConcurrentActivities?: number;
  /** How long activities may continue after a shutdown begins. Default: 30 seconds. */
  shutdownGraceMs?: number;
  /**
   * Takes every step from the server, so that a limit set with `fileconv limit` applies to this worker. Otherwise the
   * worker starts some steps eagerly, which is faster, but not counted by the server. Default: false.
   */
  obeyCommonLimit?: boolean;
  /**
   * For Temporal's worker versioning: work finishes on the version it started on, and new work arrives once the version
   * is current (`fileconv deployment set-current`). Default: unversioned.
   */
  version?: WorkerDeploymentVersion;
  /** More Temporal plugins. They may change workflow code, so it is bundled at each start. Default: none. */
  plugins?: readonly WorkerPlugin[];
}

/** Worker options for conversions, to spread into your own. They apply to the whole worker, so the plugin sets none. */
export const conversionWorkerOptions = {
  // Temporal's default of 0 aborts every transfer at once, and leaves the outcome of a submit in flight unknown.
  shutdownGraceTime: '30 seconds',
  // A heartbeat's response delivers cancellation; the SDK's default throttle is 8 s. Temporal Cloud bills heartbeats.
  maxHeartbeatThrottleInterval: '2 seconds',
  // Time that a job woken by a callback waits for a lost worker. The default of 10 s is meant for long histories.
  stickyQueueScheduleToStartTimeout: '2 seconds',
} as const satisfies Partial<WorkerOptions>;

/** Effectively unlimited, but not the 100,000 that the server lists for workers without a limit. */
const noLimitPerSecond = 90_000;
const workflowsPath = require.resolve('./workflows');
/** Loaded once per thread, not per workflow: our modules only hold constants. The built bundle does the same. */
const bundledAnew = { workflowsPath, bundlerOptions: { preloadModules: [workflowsPath] } };

/**
 * Creates a worker that only runs conversions; call `run()`. SIGTERM and SIGINT drain it.
 *
 * To run conversions next to your own workflows, pass `FileConversionPlugin` to your own `Worker.create` instead.
 */
export async function createConversionWorker(options: ConversionWorkerOptions): Promise<Worker> {
  const { plugins = [] } = options;
  return Worker.create({
    ...conversionWorkerOptions,
    connection: options.connection,
    namespace: options.namespace ?? 'default',
    taskQueue: options.taskQueue ?? defaultTaskQueue,
    plugins: [options.plugin, ...plugins],
    maxConcurrentActivityTaskExecutions: options.maxConcurrentActivities ?? 100,
    ...(options.shutdownGraceMs !== undefined && { shutdownGraceTime: options.shutdownGraceMs }),
    // A limit of its own disables eager starts; the server replaces it by the common limit.
    ...(options.obeyCommonLimit === true && { maxTaskQueueActivitiesPerSecond: noLimitPerSecond }),
    ...(options.dataConverter && { dataConverter: options.dataConverter }),
    ...(options.version && {
      workerDeploymentOptions: {
        version: options.version,
        useWorkerVersioning: true as const,
        defaultVersioningBehavior: 'PINNED' as const,
      },
    }),
    ...(plugins.length > 0 ? bundledAnew : workflowCode(options.dataConverter)),
  });
}

/**
 * Workflow code for the worker, also for `Worker.runReplayHistories`: the prebuilt bundle, or a new one if it is
 * missing or the SDK has another version. A bundle contains its converters: encrypted payloads have their own.
 */
export function workflowCode({ failureConverterPath, payloadConverterPath }: DataConverter = {}):
  Pick<WorkerOptions, 'workflowBundle'> | Pick<WorkerOptions, 'workflowsPath' | 'bundlerOptions'> {
  // src and dist are at the same depth, so this path works from both.
  const built = path.resolve(__dirname, '../dist');
  const builtWith = readVersion(path.join(built, 'workflow-bundle.json'), 'sdkVersion');
  const running = readVersion(require.resolve('@temporalio/worker/package.json'), 'version');
  const isEncoding = failureConverterPath === encodedFailuresPath;
  const isForeign = payloadConverterPath !== undefined || (failureConverterPath !== undefined && !isEncoding);
  if (builtWith !== running || isForeign) return bundledAnew;
  const bundle = isEncoding ? 'workflow-bundle-encoded-failures.js' : 'workflow-bundle.js';
  return { workflowBundle: { codePath: path.join(built, bundle) } };
}

function readVersion(file: string, key: string): string | undefined {
  if (!existsSync(file)) return undefined;
  return z.looseObject({ [key]: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8')))[key];
}
