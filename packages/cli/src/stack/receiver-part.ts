import { Client, Connection } from '@temporalio/client';
import { createSignalJob, startCallbackReceiver, type CallbackReceiver } from 'temporal-file-conversion/callbacks';
import type { Log } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { explainListen } from '../command-error';
import type { TemporalTarget } from '../config/temporal-connection';
import { readCallbackKeys } from '../keys/callback-settings';
import { openDataConverter } from '../keys/encryption';
import { createTemporalObstacle, openHealth } from '../observability/health';
import { Closing } from '../process/closing';
import { connectionOptions } from './connect';

/**
 * A receiver that signals the jobs of one Temporal. While Temporal can't be reached, it runs and answers 503.
 * @throws CommandError that says why it can't listen.
 */
export async function openReceiver(
  context: CommandContext,
  { target, port, log }: { target: TemporalTarget; port: number; log: Log },
): Promise<CallbackReceiver> {
  const { host, publicBaseUrl, metricsAddress } = context.config.values.callbacks;
  const keys = await readCallbackKeys(context);
  const dataConverter = await openDataConverter(context);
  const opened = new Closing();
  try {
    const health = await openHealth(context, 'callbacks');
    opened.add(() => health?.close());
    const connection = Connection.lazy(connectionOptions(context, target));
    opened.add(() => connection.close());
    const metrics = await openReceiverMetrics(metricsAddress);
    opened.add(() => metrics?.close());
    const receiver = await startCallbackReceiver({
      keys,
      signalJob: createSignalJob(new Client({ connection, namespace: target.namespace, dataConverter })),
      host,
      port,
      ...(publicBaseUrl !== undefined && { pathPrefix: new URL(publicBaseUrl).pathname }),
      log,
      ...(metrics && { metrics: metrics.receiver }),
    });
    opened.add(() => receiver.close());
    opened.add(() => health?.drain());
    health?.begin(createTemporalObstacle(connection));
    return { ...receiver, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw explainListen(error, { section: 'callbacks', host, port, whose: 'the receiver' });
  }
}

async function openReceiverMetrics(address: string | undefined) {
  if (address === undefined) return undefined;
  const { createReceiverMetrics, openMetrics } = await import('../observability/metrics.js');
  const { registry, close } = await openMetrics({ section: 'callbacks', address });
  return { receiver: createReceiverMetrics(registry), close };
}
