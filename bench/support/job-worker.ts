import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { FileConversionPlugin } from '../../src/plugin';
import { createConversionWorker } from '../../src/worker';
import { app } from './service-processes';

export interface JobWorkerOptions {
  readonly temporalAddress: string;
  readonly taskQueue: string;
  readonly baseUrl: string;
  readonly appId: string;
  /** So many of them in one process, each with a connection to the service and a limiter of its own. Default: 1. */
  readonly workers?: number;
}

export interface JobWorker {
  /** Resident memory of its process. */
  rssBytes(): Promise<number>;
  stop(): Promise<void>;
}

/** A worker in a process of its own, with an app profile `bench`. Resolves when it polls. */
export async function startJobWorker(options: JobWorkerOptions): Promise<JobWorker> {
  const child: ChildProcess = fork(__filename, [JSON.stringify(options)]);
  await once(child, 'message');
  return {
    async rssBytes() {
      child.send('rss');
      const [bytes] = (await once(child, 'message')) as [number];
      return bytes;
    },
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function runWorkers({
  temporalAddress,
  taskQueue,
  baseUrl,
  appId,
  workers = 1,
}: JobWorkerOptions): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const apps = { bench: { baseUrl, appId, token: app.token } };
  // One of them runs the workflows, which know of no rate limit.
  const all = Array.from({ length: workers }, async (_, index) => {
    // The SDK takes one worker of a task queue for each connection.
    const connection = await NativeConnection.connect({ address: temporalAddress });
    const plugin = new FileConversionPlugin({ apps, workflows: index === 0 });
    return createConversionWorker({ connection, plugin, taskQueue });
  });
  const running = (await Promise.all(all)).map((worker) => worker.run());
  process.on('message', () => process.send?.(process.memoryUsage().rss));
  process.send?.('ready');
  await Promise.all(running);
}

if (require.main === module) {
  process.once('disconnect', () => process.exit());
  void runWorkers(JSON.parse(process.argv[2] ?? '') as JobWorkerOptions);
}
