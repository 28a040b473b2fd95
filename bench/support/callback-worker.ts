import { fork } from 'node:child_process';
import { once } from 'node:events';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { FileConversionPlugin, type FileConversionPluginOptions } from '../../src/plugin';
import { defaultTaskQueue } from '../../src/shared/names';
import { conversionWorkerOptions } from '../../src/worker';

export interface CallbackWorkerOptions extends Pick<FileConversionPluginOptions, 'apps'> {
  readonly temporalAddress: string;
  readonly callbackKey: string;
}

/** A worker, in a process of its own, for jobs and for the bare workflow that they are compared with. Resolves when it polls. */
export async function startCallbackWorker(options: CallbackWorkerOptions): Promise<{ stop(): Promise<void> }> {
  const child = fork(__filename, [JSON.stringify(options)]);
  await once(child, 'message');
  return {
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function runWorker({ temporalAddress, apps, callbackKey }: CallbackWorkerOptions): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address: temporalAddress });
  // One task queue for both: how fast the server hands out a task depends on what else happens in its queue.
  const worker = await Worker.create({
    ...conversionWorkerOptions,
    connection,
    taskQueue: defaultTaskQueue,
    plugins: [new FileConversionPlugin({ apps, callbacks: { key: callbackKey } })],
    workflowsPath: require.resolve('./waiting-workflow'),
    activities: { noOp: (step: number) => Promise.resolve(step) },
  });
  const running = worker.run();
  process.send?.('ready');
  await running;
}

if (require.main === module) {
  process.once('disconnect', () => process.exit());
  void runWorker(JSON.parse(process.argv[2] ?? '') as CallbackWorkerOptions);
}
