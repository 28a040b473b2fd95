import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { FileConversionPlugin, type FileConversionPluginOptions } from '../../src/plugin';
import { defaultTaskQueue } from '../../src/shared/names';
import { conversionWorkerOptions } from '../../src/worker';

export interface FailoverWorkerOptions extends Pick<FileConversionPluginOptions, 'apps'> {
  readonly temporalAddress: string;
  readonly callbackKey: string;
}

/** An attempt of an activity, as the worker tells of it while it begins and when it has ended. */
export interface ToldAttempt {
  readonly workflowId: string;
  readonly activity: string;
  readonly attempt: number;
  readonly heartbeatTimeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly hasEnded: boolean;
}

export interface FailoverWorker {
  /** Begins to poll: until then the worker has everything it needs, and takes nothing. */
  go(): void;
  /** `kill -9`. */
  kill(): Promise<void>;
}

/** A worker, in a process of its own, for jobs and for the bare workflow that they are compared with. Resolves when it stands by. */
export async function startFailoverWorker(
  options: FailoverWorkerOptions,
  onAttempt: (attempt: ToldAttempt) => void,
): Promise<FailoverWorker> {
  const child = fork(__filename, [JSON.stringify(options)]);
  await once(child, 'message');
  child.on('message', (attempt) => onAttempt(attempt as ToldAttempt));
  return {
    go: () => void child.send('go'),
    async kill() {
      if (child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function heartbeatUntilLost(): Promise<void> {
  const { info } = Context.current();
  while (info.attempt === 1) {
    await sleep((info.heartbeatTimeoutMs ?? 0) / 3);
    Context.current().heartbeat();
  }
}

/** Tells the parent process of every attempt. */
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

async function runWorker({ temporalAddress, apps, callbackKey }: FailoverWorkerOptions): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address: temporalAddress });
  const worker = await Worker.create({
    ...conversionWorkerOptions,
    connection,
    taskQueue: defaultTaskQueue,
    plugins: [new FileConversionPlugin({ apps, callbacks: { key: callbackKey } })],
    workflowsPath: require.resolve('./failover-workflow'),
    activities: { heartbeatUntilLost },
    interceptors: { activity: [(context) => ({ inbound: telling(context) })] },
    maxConcurrentActivityTaskExecutions: 200,
  });
  process.send?.('standsBy');
  await once(process, 'message');
  await worker.run();
}

if (require.main === module) {
  process.once('disconnect', () => process.exit());
  void runWorker(JSON.parse(process.argv[2] ?? '') as FailoverWorkerOptions);
}
