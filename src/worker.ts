import type { DataConverter, WorkerDeploymentVersion } from '@temporalio/common';
import { Worker, type NativeConnection, type WorkerOptions, type WorkerPlugin } from '@temporalio/worker';
import type { FileConversionPlugin } from './plugin';
import { defaultTaskQueue } from './job/names';

export { FileConversionPlugin } from './plugin';
export type { AppProfile, CallbackSettings, FileConversionPluginOptions } from './plugin-options';
export type { NotifySettings } from './notices/send-notice';
export { jobFailedMessage } from './messages/log';
export { workerMetrics } from './job/metrics';
export type { MetricDefinition } from './job/metrics';

export interface ConversionWorkerOptions {
  connection: NativeConnection;
  plugin: FileConversionPlugin;
  /** Default: `default`. */
  namespace?: string;
  /** Default: `file-conversion`. */
  taskQueue?: string;
  /** Must be the same as the clients', for example `createEncryptedDataConverter(keys)`. Default: unencrypted payloads. */
  dataConverter?: DataConverter;
  /** Maximum concurrent activities, and so concurrent transfers. Default: 100. */
  maxConcurrentActivities?: number;
  /** How long activities may continue after a shutdown begins. Default: 30 seconds. */
  shutdownGraceMs?: number;
  /**
   * Takes every step from the server, so that a limit set with `temporal task-queue config set` applies to this worker. Otherwise the
   * worker starts some steps eagerly, which is faster but not counted by the server. Default: false.
   */
  obeyCommonLimit?: boolean;
  /**
   * For Temporal's worker versioning: work finishes on the version it started on, and new work arrives once the version is current
   * (`temporal worker deployment set-current-version`). Default: unversioned.
   */
  version?: WorkerDeploymentVersion;
  /** More Temporal plugins. They may change workflow code, so it is bundled at each start. Default: none. */
  plugins?: readonly WorkerPlugin[];
}

/** Worker options for conversions, to spread into your own. They apply to the whole worker, so the plugin sets none. */
export const conversionWorkerOptions = {
  // Temporal's default of 0 aborts all transfers at once, and leaves the outcome of a submit in flight unknown.
  shutdownGraceTime: '30 seconds',
  // A heartbeat's response delivers cancellation; the SDK's default throttle is 8 s. Temporal Cloud bills heartbeats.
  maxHeartbeatThrottleInterval: '2 seconds',
  // How long a job woken by a callback waits for a lost worker. The default of 10 s is meant for long histories.
  stickyQueueScheduleToStartTimeout: '2 seconds',
  // Undocumented. With the SDK's 5 s, a process stopped during a workflow task (a sleeping machine, a paused container) ends the workflow
  // code as soon as it wakes, which can end Node with "async hook stack has become corrupted".
  isolateExecutionTimeout: '1 day',
} as const satisfies Partial<WorkerOptions> & { isolateExecutionTimeout: string };

/** Effectively unlimited, but distinct from the 100,000 that the server lists for workers without a limit. */
const noLimitPerSecond = 90_000;

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
    // A limit of the worker disables eager starts; the server replaces it by the common limit.
    ...(options.obeyCommonLimit === true && { maxTaskQueueActivitiesPerSecond: noLimitPerSecond }),
    ...(options.dataConverter && { dataConverter: options.dataConverter }),
    ...(options.version && {
      workerDeploymentOptions: {
        version: options.version,
        useWorkerVersioning: true as const,
        defaultVersioningBehavior: 'PINNED' as const,
      },
    }),
  });
}
