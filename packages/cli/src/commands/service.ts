import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { ensureEmbeddedApp, SettingsFileError, startConversionService } from 'temporal-file-conversion-service';
import { callbackLimits, optionsOf, serviceLimits } from 'temporal-file-conversion-service/internal/shared/limits';
import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import { makeStateFolders } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError, explainFolder, explainStateFolder, portTaken } from '../command-error';
import type { Config } from '../config/load-config';
import { snakeCase } from '../config/schema';
import { openHealth } from '../observability/health';
import { openLog } from '../observability/log';
import { removeServiceRecord, writeServiceRecord } from '../service/embedded-service';
import { aborted, reportReady, untilAskedToEnd } from '../stack/parent-process';

export async function service(context: CommandContext): Promise<void> {
  const { config, output } = context;
  const settings = config.values.service;
  const log = await openLog(context, { process: 'service' });
  let reload = (): void => undefined;
  const signal = untilAskedToEnd(context, { onHangUp: () => reload() });
  const health = await openHealth(context, 'service');
  const { metricsAddress } = settings;
  const metrics = metricsAddress === undefined ? undefined : await openServiceMetrics(metricsAddress);
  const { embedded, running } = await start().catch(async (error: unknown) => {
    await metrics?.close();
    throw notStarted(error, config.values);
  });
  // In this order: a fault may name an app that was just added to the accounts file.
  reload = () => void running.reloadAccounts().then(() => running.reloadFaults());
  health?.begin(() => Promise.resolve(running.isUsable() ? undefined : 'its database does not answer'));
  await writeServiceRecord(settings.dataDir, running.url);
  reportReady(context);
  const details = { url: running.url, appId: embedded.appId, tokenFile: embedded.tokenFile };
  output.result(details, await describeService(details, context.stdout.isTTY === true));
  await aborted(signal);
  health?.drain();
  await removeServiceRecord(settings.dataDir);
  await running.close();
  await metrics?.close();
  await health?.close();

  async function start() {
    const bySpelling = new Map(Object.entries(settings).map(([name, value]) => [snakeCase(name), value]));
    const settingOf = (key: string) => bySpelling.get(key);
    await makeStateFolders(context);
    const app = await ensureEmbeddedApp(settings.dataDir);
    const started = await startConversionService({
      dataDir: settings.dataDir,
      host: settings.host,
      port: settings.port,
      allowRemote: settings.allowRemote === 'on',
      apps: [app.app],
      accountsFile: settings.accountsFile,
      faultsFile: settings.faultsFile,
      engines: settings.engines,
      ...optionsOf(serviceLimits, settingOf),
      callbacks: optionsOf(callbackLimits, settingOf),
      metrics: metrics?.service,
      log,
    });
    return { embedded: app, running: started };
  }
}

/** With lines to paste into another terminal. The token is shown only on a terminal: anything else may be a log. */
async function describeService(
  { url, appId, tokenFile }: { url: string; appId: string; tokenFile: string },
  isTerminal: boolean,
): Promise<string> {
  const quoted = `'${tokenFile.replaceAll("'", "'\\''")}'`;
  const token = isTerminal ? (await readFile(tokenFile, 'utf8')).trim() : `"$(cat ${quoted})"`;
  return [
    `Conversion service  ${url}`,
    `App ID              ${appId}`,
    `Token file          ${tokenFile}`,
    '',
    'For a client of yours (docs/service/clients.md):',
    `export CONVERSION_URL=${url}`,
    `export CONVERSION_APP=${appId}`,
    `export CONVERSION_TOKEN=${token}`,
  ].join('\n');
}

async function openServiceMetrics(address: string) {
  const { createServiceMetrics } = await import('temporal-file-conversion-service/internal/shared/service-metrics');
  const { openMetrics } = await import('../observability/metrics.js');
  const { registry, close } = await openMetrics({ section: 'service', address });
  return { service: createServiceMetrics(registry), close };
}

function notStarted(error: unknown, { service: { host, port, dataDir }, state }: Config): CommandError {
  if (error instanceof SettingsFileError) {
    return new CommandError('INPUT_UNUSABLE', [error.message], { cause: error });
  }
  const refuse = (problem: string) => new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
  const code = systemErrorCode(error);
  const { syscall } = (error ?? {}) as { syscall?: unknown };
  const taken = portTaken(error, { host, port, whose: 'the service', variable: 'FILECONV_SERVICE_PORT' });
  if (taken instanceof CommandError) return taken;
  if (syscall === 'listen' && code === 'EACCES') {
    return refuse(
      `This user may not listen on ${host}:${port}. Give the service another port (service.port; 0: any free one).`,
    );
  }
  if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL') {
    return refuse(`service.host: ${host} is no address of this machine. Leave it out to listen on 127.0.0.1.`);
  }
  const explained = explainDataFolder(error, { dataDir, stateDir: state.dir });
  if (explained instanceof CommandError) return explained;
  return refuse(`The conversion service can't start: ${error instanceof Error ? error.message : String(error)}`);
}

/** Another state folder does not help when the data folder itself can't be used, or is configured elsewhere. */
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
