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

async function runWorker({ temporalAddress, taskQueue, baseUrl, appId }: JobWorkerOptions): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address: temporalAddress });
  const plugin = new FileConversionPlugin({ apps: { bench: { baseUrl, appId, token: app.token } } });
  const worker = await createConversionWorker({ connection, plugin, taskQueue });
  const running = worker.run();
  process.on('message', () => process.send?.(process.memoryUsage().rss));
  process.send?.('ready');
  await running;
}

if (require.main === module) {
  process.once('disconnect', () => process.exit());
  void runWorker(JSON.parse(process.argv[2] ?? '') as JobWorkerOptions);
}
