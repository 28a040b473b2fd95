import { existsSync } from 'node:fs';
import path from 'node:path';
import {
  type ConversionServiceOptions,
  createServiceMetrics,
  SettingsFileError,
  startConversionService,
  type ServiceMetrics,
} from 'temporal-file-conversion-service';
import { ensureEmbeddedApp } from 'temporal-file-conversion-service/administration';
import { callbackLimits, optionsOf, serviceLimits } from 'temporal-file-conversion-service/settings';
import type { Log } from 'temporal-file-conversion/messages';
import { makeStateFolders } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError, explainFolder, explainListen, explainStateFolder } from '../command-error';
import type { Config } from '../config/load-config';
import { snakeCase } from '../config/schema';
import { openHealth } from '../observability/health';
import { removeServiceRecord, writeServiceRecord } from '../service/embedded-service';
import { Closing } from '../process/closing';

export interface ServicePart {
  readonly url: string;
  /** App ID of the service's own app. */
  readonly appId: string;
  readonly tokenFile: string;
  close(): Promise<void>;
}

export interface ServicePartOptions extends Pick<ConversionServiceOptions, 'expects'> {
  port: number;
  log: Log;
}

/** @throws CommandError that says why it can't start. */
export async function startService(
  context: CommandContext,
  { port, log, expects }: ServicePartOptions,
): Promise<ServicePart> {
  const settings = context.config.values.service;
  const { metricsAddress, dataDir } = settings;
  const opened = new Closing();
  try {
    const health = await openHealth(context, 'service');
    opened.add(() => health?.close());
    const metrics = metricsAddress === undefined ? undefined : await openServiceMetrics(metricsAddress);
    opened.add(() => metrics?.close());
    const { embedded, running } = await start(metrics?.service);
    opened.add(() => running.close());
    health?.begin(() => Promise.resolve(running.isUsable() ? undefined : 'its database does not answer'));
    await writeServiceRecord(dataDir, running.url);
    opened.add(() => removeServiceRecord(dataDir));
    opened.add(() => health?.drain());
    return {
      url: running.url,
      appId: embedded.appId,
      tokenFile: embedded.tokenFile,
      close: () => opened.close(),
    };
  } catch (error) {
    await opened.close();
    throw notStarted(error, { ...context.config.values, port });
  }

  async function start(metrics: ServiceMetrics | undefined) {
    const bySpelling = new Map(Object.entries(settings).map(([name, value]) => [snakeCase(name), value]));
    const settingOf = (key: string) => bySpelling.get(key);
    await makeStateFolders(context);
    const app = await ensureEmbeddedApp(dataDir);
    const started = await startConversionService({
      dataDir,
      host: settings.host,
      port,
      allowRemote: settings.allowRemote === 'on',
      apps: [app.app],
      accountsFile: settings.accountsFile,
      faultsFile: settings.faultsFile,
      engines: settings.engines,
      ...optionsOf(serviceLimits, settingOf),
      callbacks: optionsOf(callbackLimits, settingOf),
      metrics,
      log,
      expects,
    });
    return { embedded: app, running: started };
  }
}

async function openServiceMetrics(address: string) {
  const { openMetrics } = await import('../observability/metrics.js');
  const { registry, close } = await openMetrics({ section: 'service', address });
  return { service: createServiceMetrics(registry), close };
}

function notStarted(
  error: unknown,
  { service: { host, dataDir }, state, port }: Config & { port: number },
): CommandError {
  if (error instanceof CommandError) return error;
  if (error instanceof SettingsFileError) {
    return new CommandError('INPUT_UNUSABLE', [error.message], { cause: error });
  }
  const refuse = (problem: string) => new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
  const notListening = explainListen(error, { section: 'service', host, port, whose: 'the service' });
  if (notListening instanceof CommandError) return notListening;
  const explained = explainDataFolder(error, { dataDir, stateDir: state.dir });
  if (explained instanceof CommandError) return explained;
  return refuse(`The conversion service can't start: ${error instanceof Error ? error.message : String(error)}`);
}

/** Does not suggest another state folder if the data folder itself can't be used, or is configured elsewhere. */
function explainDataFolder(error: unknown, { dataDir, stateDir }: { dataDir: string; stateDir: string }): unknown {
  const isOwn = existsSync(dataDir) || path.relative(stateDir, dataDir).startsWith('..');
  if (!isOwn) return explainStateFolder(stateDir, error);
  const { path: failed } = (error ?? {}) as { path?: unknown };
  const isInside = typeof failed === 'string' && failed.startsWith(dataDir + path.sep) && existsSync(failed);
  const subject = isInside ? `${failed}, in the service's data folder,` : `The service's data folder ${dataDir}`;
  return explainFolder(error, {
    problem: `${subject} cannot be used`,
    advice: 'Make it yours, or name another folder with FILECONV_SERVICE_DATA_DIR.',
  });
}
