import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, type Worker } from '@temporalio/worker';
import type { CallbackReceiver } from 'temporal-file-conversion/callbacks';
import { createConversionWorker, FileConversionPlugin } from 'temporal-file-conversion/worker';
import { defined } from 'temporal-file-conversion/job';
import type { Log } from 'temporal-file-conversion/messages';
import { stateFolderIfAny } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { embeddedApp } from '../config/schema';
import { temporalCommand, type TemporalTarget } from '../config/temporal-connection';
import { callbackSettings } from '../keys/callback-settings';
import { openDataConverter } from '../keys/encryption';
import { notifySettings } from '../keys/secrets';
import { createTemporalObstacle, openHealth } from '../observability/health';
import { installWorkerRuntime, watchJobs } from '../observability/worker-runtime';
import { configuredApps, embeddedProfile, isEmbedded } from '../service/profiles';
import { configuredServiceUrl, embeddedServiceUrl } from '../service/embedded-service';
import { configuredStores } from '../stores';
import { Closing } from '../process/closing';
import { unreachable } from './connect';

const startCheckMs = 20;

export interface WorkerPart {
  /** Apps that callers from other namespaces may use; undefined: the worker does not serve Nexus. */
  readonly nexusApps: readonly string[] | undefined;
  readonly version: { deploymentName: string; buildId: string } | undefined;
  /** Resolves when the worker has ended, for whatever reason; rejects if it could not go on. */
  readonly ended: Promise<void>;
  /** Lets activities in flight finish. */
  close(): Promise<void>;
}

export interface WorkerPartOptions {
  target: TemporalTarget;
  log: Log;
  onWarning: (message: string) => void;
  /** Takes work of every version, even if the configuration names one. */
  isUnversioned: boolean;
  receiver?: CallbackReceiver | undefined;
}

/** @throws CommandError that says why it can't start: `TEMPORAL_UNREACHABLE` if nothing answers. */
export async function startWorker(context: CommandContext, options: WorkerPartOptions): Promise<WorkerPart> {
  const { values } = context.config;
  const { target, log, onWarning, isUnversioned, receiver } = options;
  const { metricsAddress, taskQueue, deploymentName, buildId, checkCommand: argv, checkSeconds } = values.worker;
  const callbacks = await callbackSettings(context);
  const notify = await notifySettings(context);
  const apps = { ...(await embeddedApps(context)), ...configuredApps(context, onWarning) };
  const nexus = nexusOf(values.worker.nexusApps, Object.keys(apps));
  const dataConverter = await openDataConverter(context);
  const stateDir = await stateFolderIfAny(context);
  const { roots: named } = values.worker;
  // The state folder holds reports of batches and piped files.
  const roots = named.length === 0 ? [] : [...named, values.state.dir];
  const version = buildId === undefined || isUnversioned ? undefined : { deploymentName, buildId };
  const opened = new Closing();
  try {
    const health = await openHealth(context, 'worker');
    if (health) opened.add(() => health.close());
    // After everything that may fail: once the runtime exists, the process ends only when its connection is closed.
    installWorkerRuntime({ log, level: values.log.level, metricsAddress });
    const connection = await NativeConnection.connect(target.connection).catch((error: unknown) => {
      throw unreachable(context, target, { error, reason: readNative(error).reason });
    });
    opened.add(() => connection.close());
    const worker = await createConversionWorker({
      connection,
      plugin: new FileConversionPlugin({
        apps,
        ...(nexus && { nexus }),
        ...(callbacks && { callbacks: { ...callbacks, ...defined({ receiver }) } }),
        notify,
        stores: configuredStores(context, { roots, isShared: values.worker.sharedFiles === 'on' }),
        ...defined({ stateDir, checkCommand: argv && { argv, limitMs: checkSeconds * 1_000 } }),
        timeouts: {
          connectMs: values.timeouts.connectSeconds * 1_000,
          headersMs: values.timeouts.headersSeconds * 1_000,
          bodyMs: values.timeouts.bodySeconds * 1_000,
          stallMs: values.timeouts.stallSeconds * 1_000,
        },
      }),
      dataConverter,
      namespace: target.namespace,
      taskQueue,
      maxConcurrentActivities: values.worker.maxConcurrentActivities,
      shutdownGraceMs: values.worker.shutdownGraceSeconds * 1_000,
      obeyCommonLimit: values.worker.commonLimit === 'on',
      ...(version && { version }),
    }).catch((error: unknown) => {
      throw notCreated(error, target);
    });
    const running = worker.run();
    const findObstacle = createTemporalObstacle(connection);
    health?.begin(() => (worker.getState() === 'RUNNING' ? findObstacle() : Promise.resolve('it polls no task queue')));
    if (metricsAddress !== undefined) {
      const over = new AbortController();
      const { identity } = worker.options;
      const watching = { taskQueue, identity, apps: Object.keys(apps), signal: over.signal };
      const watched = worker.client && watchJobs({ client: worker.client, ...watching });
      opened.add(async () => {
        over.abort();
        await watched;
      });
    }
    const ended = running.finally(() => opened.close());
    // Callers see a rejection when they await it; until then it must not count as unhandled.
    ended.catch(() => undefined);
    return {
      nexusApps: nexus?.apps,
      version,
      ended,
      async close() {
        health?.drain();
        await drain(worker);
        await ended;
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** A starting worker ignores a shutdown, so wait until it runs. */
async function drain(worker: Worker): Promise<void> {
  while (worker.getState() === 'INITIALIZED') await sleep(startCheckMs);
  if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** The embedded service's profile, unless this worker serves only other services: a deployment then needs no state folder. */
async function embeddedApps(context: CommandContext) {
  if (!isEmbedded(context, embeddedApp)) return {};
  const running = await embeddedServiceUrl(context);
  if (running === undefined && context.config.values.defaultApp !== embeddedApp) return {};
  // A service that is not running yet will listen at the configured address.
  return { [embeddedApp]: await embeddedProfile(context, running ?? configuredServiceUrl(context)) };
}

function nexusOf(names: readonly string[], apps: readonly string[]) {
  if (names.length === 0) return undefined;
  const unknown = names.filter((app) => !apps.includes(app));
  if (unknown.length === 0) return { apps: names };
  const problem = `worker.nexus_apps names ${unknown.join(', ')}, which this worker does not have; it has: ${apps.join(', ') || 'none'}.`;
  throw new CommandError('UNKNOWN_APP', [problem]);
}

/** Extracts the message: the native part quotes the server's whole answer and its causes. */
function readNative(error: unknown): { code?: string | undefined; reason: string } {
  const { name, message } = error as Error;
  const [, code, text] = /(?:code: (\w+), )?message: "([^"]*)"/.exec(message) ?? [];
  return { code, reason: text ?? (name === 'TransportError' ? '' : message) };
}

function notCreated(error: unknown, target: TemporalTarget): unknown {
  const { code, reason } = readNative(error);
  if (code === undefined) return error;
  if (code !== 'NotFound') {
    const problem = `Temporal at ${target.connection.address} does not take this worker: ${reason}`;
    return new CommandError('TEMPORAL_UNREACHABLE', [problem], { cause: error });
  }
  const place = { address: target.connection.address, namespace: target.namespace };
  const create = temporalCommand(place, 'operator namespace create');
  const problem = `Temporal has no namespace ${target.namespace}. Correct TEMPORAL_NAMESPACE, or create it: ${create}`;
  return new CommandError('INPUT_UNUSABLE', [problem], { cause: error });
}
