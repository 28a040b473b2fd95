import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { CallbackKeys } from '../callbacks/callback-key';
import { CallbackKeyError, ensureCallbackKeyFile, parseCallbackKeys } from '../callbacks/callback-key';
import type { CallbackReceiver } from '../callbacks/receiver';
import type { TemporalTarget } from '../config/temporal-connection';
import type { CallbackSettings } from '../plugin';
import type { Log } from '../shared/log';
import { systemErrorCode } from '../shared/system-error';
import type { CommandContext } from './command-context';
import { CommandError } from './command-error';
import { openMetrics } from './metrics/open-metrics';
import { explainStateFolder } from './stack/state-folder';

/** What a worker asks services to call back with; undefined when the configuration names no place to call. */
export async function callbackSettings(context: CommandContext): Promise<CallbackSettings | undefined> {
  const { publicBaseUrl, embeddedBaseUrl } = context.config.values.callbacks;
  if (publicBaseUrl === undefined && embeddedBaseUrl === undefined) return undefined;
  const { current } = await readKeys(context);
  return { key: current, ...(publicBaseUrl !== undefined && { publicBaseUrl }) };
}

/** A receiver that signals the jobs of one Temporal. It starts, and answers 503, also while that can't be reached. */
export async function openReceiver(
  context: CommandContext,
  { target, port, log }: { target: TemporalTarget; port: number; log: Log },
): Promise<CallbackReceiver> {
  const { host, publicBaseUrl, metricsAddress } = context.config.values.callbacks;
  const keys = await readKeys(context);
  // Here, not above: a worker needs neither.
  const { Client, Connection } = await import('@temporalio/client');
  const { startCallbackReceiver } = await import('../callbacks/receiver.js');
  const { createSignalJob } = await import('../callbacks/signal-job.js');
  const connection = Connection.lazy(target.connection);
  const metrics = await openReceiverMetrics(metricsAddress);
  const receiver = await startCallbackReceiver({
    keys,
    signalJob: createSignalJob(new Client({ connection, namespace: target.namespace })),
    host,
    port,
    ...(publicBaseUrl !== undefined && { pathPrefix: new URL(publicBaseUrl).pathname }),
    log,
    ...(metrics && { metrics: metrics.receiver }),
  }).catch(async (error: unknown) => {
    await metrics?.endpoint.close();
    await connection.close();
    throw error;
  });
  return {
    url: receiver.url,
    async close() {
      await receiver.close();
      await metrics?.endpoint.close();
      await connection.close();
    },
  };
}

async function openReceiverMetrics(address: string | undefined) {
  if (address === undefined) return undefined;
  const { createReceiverMetrics } = await import('../callbacks/receiver-metrics.js');
  const { registry, endpoint } = await openMetrics({ section: 'callbacks', address });
  return { receiver: createReceiverMetrics(registry), endpoint };
}

async function readKeys(context: CommandContext): Promise<CallbackKeys> {
  const { config, env } = context;
  const { keyEnv, keyFile } = config.values.callbacks;
  if (keyEnv !== undefined && keyFile !== undefined) {
    throw unusable('callbacks.key_env and callbacks.key_file both say where the callback key is; keep one.');
  }
  const file = keyFile ?? path.join(config.values.state.dir, 'callbacks.key');
  const place = keyEnv === undefined ? `the file ${file}` : `the variable ${keyEnv}`;
  let text: string | undefined;
  if (keyEnv !== undefined) text = env[keyEnv];
  else if (keyFile === undefined) text = await ownKey(file, config.values.state.dir);
  else text = await readKeyFile(context, keyFile);
  if (text === undefined) throw unusable(`The callback key: ${place} is not set; export it where this runs.`);
  for (const secret of text.split(/\s+/)) context.secrets.hide(secret);
  try {
    return parseCallbackKeys(text);
  } catch (error) {
    if (!(error instanceof CallbackKeyError)) throw error;
    throw unusable(`The callback key: ${place} can't be used: ${error.message}.`, error);
  }
}

async function ownKey(file: string, stateDir: string): Promise<string> {
  try {
    return await ensureCallbackKeyFile(file);
  } catch (error) {
    throw explainStateFolder(stateDir, error);
  }
}

async function readKeyFile({ output }: CommandContext, file: string): Promise<string> {
  try {
    // Windows keeps no such bits.
    if (process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0) {
      output.warn(`The callback key: others can read the file ${file}; run: chmod 600 ${file}`);
    }
    return await readFile(file, 'utf8');
  } catch (error) {
    const reason = systemErrorCode(error) === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw unusable(
      `The callback key: the file ${file} ${reason}; leave callbacks.key_file out to have one made.`,
      error,
    );
  }
}

function unusable(problem: string, cause?: unknown): CommandError {
  return new CommandError('INPUT_UNUSABLE', [problem], { cause });
}
