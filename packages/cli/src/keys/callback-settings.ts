import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import {
  createSignalJob,
  startCallbackReceiver,
  CallbackKeyError,
  type CallbackKeys,
  type CallbackReceiver,
  ensureCallbackKeyFile,
  parseCallbackKeys,
} from 'temporal-file-conversion/callbacks';
import type { CallbackSettings } from 'temporal-file-conversion/worker';
import type { Log } from 'temporal-file-conversion/messages';
import { makeStateFolders } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError, explainListen, explainStateFolder } from '../command-error';
import type { TemporalTarget } from '../config/temporal-connection';
import { createTemporalObstacle, openHealth } from '../observability/health';
import { Closing } from '../stack/closing';
import { connectionOptions } from '../stack/open-temporal';
import { openDataConverter, readConfiguredSecret } from './secrets';

/** Key and URL for the callbacks that a worker requests; undefined if the configuration names no URL. */
export async function callbackSettings(context: CommandContext): Promise<CallbackSettings | undefined> {
  const { publicBaseUrl, embeddedBaseUrl } = context.config.values.callbacks;
  if (publicBaseUrl === undefined && embeddedBaseUrl === undefined) return undefined;
  const { current } = await readKeys(context);
  return { key: current, ...(publicBaseUrl !== undefined && { publicBaseUrl }) };
}

/**
 * A receiver that signals the jobs of one Temporal. While Temporal can't be reached, it runs and answers 503.
 * @throws CommandError that says why it can't listen.
 */
export async function openReceiver(
  context: CommandContext,
  { target, port, log }: { target: TemporalTarget; port: number; log: Log },
): Promise<CallbackReceiver> {
  const { host, publicBaseUrl, metricsAddress } = context.config.values.callbacks;
  const keys = await readKeys(context);
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

async function readKeys(context: CommandContext): Promise<CallbackKeys> {
  const { keyEnv: variable, keyFile: file } = context.config.values.callbacks;
  const what = 'The callback key';
  const fix = 'leave callbacks.key_file out to have one made';
  const configured = await readConfiguredSecret(context, { what, at: 'callbacks.key', variable, file, fix });
  const { text, place } = configured ?? (await ownKey(context));
  try {
    return parseCallbackKeys(text);
  } catch (error) {
    if (!(error instanceof CallbackKeyError)) throw error;
    throw new CommandError('INPUT_UNUSABLE', [`${what}: ${place} can't be used: ${error.message}.`], { cause: error });
  }
}

async function ownKey(context: CommandContext): Promise<{ text: string; place: string }> {
  const { config, secrets } = context;
  await makeStateFolders(context);
  const file = path.join(config.values.state.dir, 'callbacks.key');
  try {
    const text = await ensureCallbackKeyFile(file);
    secrets.hideWords(text);
    return { text, place: `the file ${file}` };
  } catch (error) {
    throw explainStateFolder(config.values.state.dir, error);
  }
}
