import { NativeConnection } from '@temporalio/worker';
import { temporalTarget } from '../../config/temporal-connection';
import { FileConversionPlugin } from '../../plugin';
import { createConversionWorker } from '../../worker';
import { configuredApps, appProfile, configuredServiceUrl } from '../app-profiles';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../exit';
import { CommandError, exitCodes } from '../exit';
import { aborted, reportReady, untilAskedToEnd } from '../stack/parent-process';
import { readStackRecord } from '../stack/stack-record';

/** `fileconv worker`: executes jobs until it is asked to end, then lets those under way finish their step. */
export async function worker(context: CommandContext): Promise<ExitCode> {
  const { config, env, output } = context;
  const { values } = config;
  const signal = untilAskedToEnd();
  const stack = await readStackRecord(values.state.dir);
  const target = temporalTarget({ address: stack?.temporal.address, ...values.temporal }, env);
  const connection = await NativeConnection.connect(target.connection).catch((error: unknown) => {
    throw new CommandError(
      `Temporal can't be reached at ${target.connection.address ?? ''}. Start it with \`fileconv up\`, or set TEMPORAL_ADDRESS.`,
      exitCodes.failed,
      { cause: error },
    );
  });
  const embedded = await appProfile(context, 'embedded', stack?.service.url ?? configuredServiceUrl(context));
  const plugin = new FileConversionPlugin({
    apps: { embedded, ...configuredApps(context) },
    timeouts: {
      connectMs: values.timeouts.connectSeconds * 1_000,
      headersMs: values.timeouts.headersSeconds * 1_000,
      bodyMs: values.timeouts.bodySeconds * 1_000,
      stallMs: values.timeouts.stallSeconds * 1_000,
    },
  });
  const conversionWorker = await createConversionWorker({
    connection,
    plugin,
    namespace: target.namespace,
    taskQueue: values.worker.taskQueue,
    maxConcurrentActivities: values.worker.maxConcurrentActivities,
    shutdownGraceMs: values.worker.shutdownGraceSeconds * 1_000,
  });
  const running = conversionWorker.run();
  reportReady();
  output.say(
    `Worker on task queue ${values.worker.taskQueue} of ${target.connection.address ?? ''}. Ctrl-C drains it.`,
  );
  void aborted(signal).then(() => {
    if (conversionWorker.getState() === 'RUNNING') conversionWorker.shutdown();
  });
  try {
    await running;
  } finally {
    await plugin.close();
    await connection.close();
  }
  return exitCodes.ok;
}
