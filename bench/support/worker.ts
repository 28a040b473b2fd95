import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { FileConversionPlugin } from '../../src/plugin';
import type { FileConversionPluginOptions } from '../../src/plugin-options';
import { defaultTaskQueue } from '../../src/job/names';
import { conversionWorkerOptions } from '../../src/worker';
import { app } from './app';
import { asChild, type StartedChild, startChild } from './child-process';

export interface BenchWorkerOptions extends Pick<FileConversionPluginOptions, 'apps'> {
  readonly temporalAddress: string;
  /** Default: that of jobs. */
  readonly taskQueue?: string;
  readonly callbackKey?: string;
  /** A file of workflows in place of the package's own. */
  readonly workflowsPath?: string;
  /** So many of them in one process, each with a connection to the service and a limiter of its own. Default: 1. */
  readonly workers?: number;
  /** Activities at a time. Default: 100. */
  readonly activities?: number;
  /** Takes nothing before it is told to `go`, and tells its parent of every attempt. Default: it polls when it is started. */
  readonly standsBy?: boolean;
}

/** An attempt of an activity, as a worker tells of it while it begins and when it has ended. */
export interface ToldAttempt {
  readonly workflowId: string;
  readonly activity: string;
  readonly attempt: number;
  readonly heartbeatTimeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly hasEnded: boolean;
}

/** Workers of jobs, and of the bare workflows that they are compared with, in a process of their own. */
export function startWorker(options: BenchWorkerOptions): Promise<StartedChild> {
  return startChild(__filename, options);
}

/** A worker of batches whose jobs are done as soon as they start. */
export function startInstantWorker(temporalAddress: string, taskQueue: string): Promise<StartedChild> {
  const workflowsPath = require.resolve('./instant-jobs');
  return startWorker({
    temporalAddress,
    taskQueue,
    apps: { bench: { ...app, baseUrl: 'http://127.0.0.1:1' } },
    workflowsPath,
  });
}

async function heartbeatUntilLost(): Promise<void> {
  const { info } = Context.current();
  while (info.attempt === 1) {
    await sleep((info.heartbeatTimeoutMs ?? 0) / 3);
    Context.current().heartbeat();
  }
}

function telling(context: Context): ActivityInboundCallsInterceptor {
  const { workflowExecution, activityType: activity, attempt, heartbeatTimeoutMs = 0 } = context.info;
  const tell = (hasEnded: boolean) => {
    const { workflowId = '' } = workflowExecution ?? {};
    const told: ToldAttempt = { workflowId, activity, attempt, heartbeatTimeoutMs, at: Date.now(), hasEnded };
    process.send?.(told);
  };
  return {
    async execute(input, next) {
      tell(false);
      try {
        return await next(input);
      } finally {
        tell(true);
      }
    },
  };
}

const waiting: Worker[] = [];

async function begin(options: BenchWorkerOptions): Promise<string> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { apps, callbackKey, workflowsPath, workers = 1, standsBy = false } = options;
  const all = Array.from({ length: workers }, async (_, index) => {
    // The SDK takes one worker of a task queue for each connection.
    const connection = await NativeConnection.connect({ address: options.temporalAddress });
    return Worker.create({
      ...conversionWorkerOptions,
      connection,
      taskQueue: options.taskQueue ?? defaultTaskQueue,
      plugins: [
        new FileConversionPlugin({
          apps,
          // One of them runs the workflows, which know of no rate limit.
          workflows: index === 0 && workflowsPath === undefined,
          ...(callbackKey !== undefined && { callbacks: { key: callbackKey } }),
        }),
      ],
      ...(workflowsPath !== undefined && { workflowsPath }),
      activities: { noOp: (step: number) => Promise.resolve(step), heartbeatUntilLost },
      ...(standsBy && { interceptors: { activity: [(context) => ({ inbound: telling(context) })] } }),
      maxConcurrentActivityTaskExecutions: options.activities ?? 100,
    });
  });
  waiting.push(...(await Promise.all(all)));
  if (!standsBy) go();
  return 'ready';
}

function go(): void {
  for (const worker of waiting.splice(0)) void worker.run();
}

asChild(module, begin, { go });
