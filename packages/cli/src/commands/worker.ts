import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, type Worker } from '@temporalio/worker';
import { FileConversionPlugin } from 'temporal-file-conversion/internal/plugin';
import { createConversionWorker } from 'temporal-file-conversion/internal/worker';
import { defined } from 'temporal-file-conversion/internal/shared/defined';
import { stateFolderIfAny } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import type { Config } from '../config/load-config';
import { embeddedApp } from '../config/schema';
import { temporalCommand, type TemporalTarget } from '../config/temporal-connection';
import { callbackSettings } from '../keys/callback-settings';
import { openDataConverter } from '../keys/encryption-settings';
import { createTemporalObstacle, openHealth } from '../observability/health';
import { openLog, runningOutput } from '../observability/log';
import { openTracing } from '../observability/tracing/open-tracing';
import { installWorkerRuntime, watchJobs } from '../observability/worker-runtime';
import { configuredApps, embeddedProfile, isEmbedded } from '../service/app-profiles';
import { configuredServiceUrl, embeddedServiceUrl } from '../service/embedded-service';
import { configuredStores } from '../stores';
import { aborted, reportReady, untilAskedToEnd } from '../stack/parent-process';
import { findTemporal } from '../stack/open-temporal';

const startCheckMs = 20;

/** `fileconv worker`: executes jobs until it is asked to end, then lets those under way finish their step. */
export async function worker(context: CommandContext, flags: { unversioned?: boolean }): Promise<void> {
  const { config, output, env } = context;
  const { values } = config;
  const signal = untilAskedToEnd(context);
  const { metricsAddress } = values.worker;
  const log = await openLog(context, { process: 'worker' });
  const news = runningOutput(context, log);
  const tracing = await openTracing(env, { serviceName: 'fileconv-worker' });
  const health = await openHealth(context, 'worker');
  const { target } = await findTemporal(context);
  const callbacks = await callbackSettings(context);
  const apps = { ...(await embeddedApps(context)), ...configuredApps(context, (warning) => news.warn(warning)) };
  const nexus = nexusOf(values.worker.nexusApps, Object.keys(apps));
  const plugin = new FileConversionPlugin({
    apps,
    ...(nexus && { nexus }),
    ...(callbacks && { callbacks }),
    stores: configuredStores(context, { roots: rootsOf(values), isShared: values.worker.sharedFiles === 'on' }),
    ...defined({ stateDir: await stateFolderIfAny(context) }),
    ...(tracing && { tracer: tracing.tracer }),
    timeouts: {
      connectMs: values.timeouts.connectSeconds * 1_000,
      headersMs: values.timeouts.headersSeconds * 1_000,
      bodyMs: values.timeouts.bodySeconds * 1_000,
      stallMs: values.timeouts.stallSeconds * 1_000,
    },
  });
  const dataConverter = await openDataConverter(context);
  const { deploymentName, buildId } = values.worker;
  const version = buildId === undefined || flags.unversioned ? undefined : { deploymentName, buildId };
  // After all that may fail: once the runtime is there, the process ends only when its connection is closed.
  installWorkerRuntime({ log, level: values.log.level, metricsAddress });
  const connection = await connect(target);
  const conversionWorker = await createConversionWorker({
    connection,
    plugin,
    dataConverter,
    namespace: target.namespace,
    taskQueue: values.worker.taskQueue,
    maxConcurrentActivities: values.worker.maxConcurrentActivities,
    shutdownGraceMs: values.worker.shutdownGraceSeconds * 1_000,
    obeyCommonLimit: values.worker.commonLimit === 'on',
    ...(version && { version }),
    ...(tracing && { plugins: [tracing.worker] }),
  });
  const running = conversionWorker.run();
  const findObstacle = createTemporalObstacle(connection);
  health?.begin(() =>
    conversionWorker.getState() === 'RUNNING' ? findObstacle() : Promise.resolve('it polls no task queue'),
  );
  reportReady(context);
  const { taskQueue } = values.worker;
  const address = target.connection.address;
  if (output.json) {
    const metrics = metricsAddress === undefined ? {} : { metrics: `http://${metricsAddress}/metrics` };
    const { nexusApps } = values.worker;
    output.printJson({
      address,
      namespace: target.namespace,
      taskQueue,
      ...(nexus && { nexusApps }),
      ...version,
      ...metrics,
    });
  } else {
    news.say(`Worker on task queue ${taskQueue} of ${address}. Ctrl-C drains it.`);
    if (nexus) news.say(`Callers of other namespaces may use ${nexus.apps.join(', ')}.`);
    if (version) {
      const makeCurrent = `worker deployment set-current-version --deployment-name ${deploymentName} --build-id ${version.buildId}`;
      news.say(
        `It is build ${version.buildId} of deployment ${deploymentName}, and takes new work once that is current: ${temporalCommand(target, makeCurrent)}`,
      );
    }
  }
  const over = new AbortController();
  const { client } = conversionWorker;
  const watched =
    metricsAddress === undefined || client === undefined
      ? undefined
      : watchJobs({
          client,
          taskQueue,
          identity: conversionWorker.options.identity,
          apps: Object.keys(apps),
          signal: over.signal,
        });
  void aborted(signal).then(() => {
    health?.drain();
    return drain(conversionWorker);
  });
  try {
    await running;
  } finally {
    over.abort();
    await watched;
    await connection.close();
    await tracing?.close();
    await health?.close();
  }
}

/** Reports of batches, and what is piped, lie in the state folder. */
function rootsOf({ worker: { roots }, state }: Config): string[] {
  return roots.length === 0 ? [] : [...roots, state.dir];
}

/** A worker that is asked to end while it starts ignores that until it runs. */
async function drain(worker: Worker): Promise<void> {
  while (worker.getState() === 'INITIALIZED') await sleep(startCheckMs);
  if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** The embedded service's profile, unless this worker is for other services alone: a deployment needs no state folder. */
async function embeddedApps(context: CommandContext) {
  if (!isEmbedded(context, embeddedApp)) return {};
  const running = await embeddedServiceUrl(context);
  if (running === undefined && context.config.values.defaultApp !== embeddedApp) return {};
  // A service that does not run yet will listen where the configuration says.
  return { [embeddedApp]: await embeddedProfile(context, running ?? configuredServiceUrl(context)) };
}

/** Which apps callers may use; undefined: the worker does not serve Nexus. */
function nexusOf(names: readonly string[], apps: readonly string[]) {
  if (names.length === 0) return undefined;
  const unknown = names.filter((app) => !apps.includes(app));
  if (unknown.length === 0) return { apps: names };
  const problem = `worker.nexus_apps names ${unknown.join(', ')}, which this worker does not have; it has: ${apps.join(', ') || 'none'}.`;
  throw new CommandError('UNKNOWN_APP', [problem]);
}

async function connect(target: TemporalTarget): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(target.connection);
  } catch (error) {
    const address = target.connection.address;
    const problem = `Temporal can't be reached at ${address}. Start it with \`fileconv up\`, or set TEMPORAL_ADDRESS.`;
    throw new CommandError('TEMPORAL_UNREACHABLE', [problem], { cause: error });
  }
}
