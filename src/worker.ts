import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { DataConverter, WorkerDeploymentVersion } from '@temporalio/common';
import type { NativeConnection, WorkerOptions, WorkerPlugin } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
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
  /** The one that the clients have, for example `createEncryptedDataConverter(keys)`. Default: payloads as they are. */
  dataConverter?: DataConverter;
  /** Activities at a time, and so files in transfer at a time. Default: 100. */
  maxConcurrentActivities?: number;
  /** How long activities may go on after a shutdown began. Default: 30 seconds. */
  shutdownGraceMs?: number;
  /**
   * Takes every step from the server, so that a limit set with `fileconv limit` holds for this worker too. Without it a worker begins some steps
   * as soon as they are scheduled, which is faster and which the server does not count. Default: false.
   */
  obeyCommonLimit?: boolean;
  /**
   * For Temporal's worker versioning: what began on this version ends on it, and new work comes once the version is current
   * (`fileconv deployment set-current`). Default: none, and the worker takes whatever there is.
   */
  version?: WorkerDeploymentVersion;
  /** Further Temporal plugins. They may change the workflows' code, so it is bundled anew when the worker starts. Default: none. */
  plugins?: readonly WorkerPlugin[];
}

/**
 * What suits conversions in a worker; a worker of your own may spread it into its options. The plugin leaves it to you, since it holds for all
 * activities and workflows there.
 */
export const conversionWorkerOptions = {
  // Temporal's default of 0 cuts every transfer at once, and the outcome of a submit that is on its way is then unknown.
  shutdownGraceTime: '30 seconds',
  // Cancellation reaches a transfer with the answer to a heartbeat, which the SDK else holds back for 8 s. Temporal Cloud bills heartbeats.
  maxHeartbeatThrottleInterval: '2 seconds',
  // So long a job that a callback wakes waits for a worker that is gone. The default of 10 s is meant for long histories.
  stickyQueueScheduleToStartTimeout: '2 seconds',
} as const satisfies Partial<WorkerOptions>;

/** Limits nothing, and is not the figure that the server lists workers with which told none. */
const noLimitPerSecond = 90_000;
const workflowsPath = require.resolve('./workflows');
/** Evaluated once for all workflows of a thread instead of once for each: our modules hold constants and no state. Also in the built bundle. */
const bundledAnew = { workflowsPath, bundlerOptions: { preloadModules: [workflowsPath] } };

/**
 * A worker that runs conversion jobs and nothing else. `run()` it; SIGTERM and SIGINT drain it.
 *
 * To run conversion beside workflows of your own, pass `FileConversionPlugin` to your own `Worker.create` instead.
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
    // A worker with a limit of its own begins nothing by itself; the server puts the common limit in its place.
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
 * What the worker runs, also for `Worker.runReplayHistories`. The bundle that was built with the package; bundled anew when there is none, or when the SDK beside us is of another version. A bundle holds the
 * converters that its workflows use, so there is a second one for encrypted payloads.
 */
export function workflowCode({ failureConverterPath, payloadConverterPath }: DataConverter = {}):
  Pick<WorkerOptions, 'workflowBundle'> | Pick<WorkerOptions, 'workflowsPath' | 'bundlerOptions'> {
  // src and dist lie at the same depth, so this finds the built files from both.
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
