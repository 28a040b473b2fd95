import { ensureEmbeddedApp, startConversionService } from '../../service';
import { systemErrorCode } from '../../shared/system-error';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import type { ExitCode } from '../exit';
import { exitCodes } from '../exit';
import { explainStateFolder } from '../stack/state-folder';
import { aborted, reportReady, untilAskedToEnd } from '../stack/parent-process';

/** `fileconv service`: the embedded conversion service until it is asked to end. */
export async function service(context: CommandContext): Promise<ExitCode> {
  const { config, output } = context;
  const settings = config.values.service;
  let reload = (): void => undefined;
  const signal = untilAskedToEnd({ onHangUp: () => reload() });
  const { embedded, running } = await start().catch((error: unknown) => {
    throw notStarted(error, { address: `${settings.host}:${settings.port}`, stateDir: config.values.state.dir });
  });
  reload = () => void running.reloadAccounts();
  reportReady();
  const details = { url: running.url, appId: embedded.appId, tokenFile: embedded.tokenFile };
  if (output.json) output.printJson(details);
  else {
    output.print(
      `Conversion service  ${details.url}\nApp ID              ${details.appId}\nToken file          ${details.tokenFile}`,
    );
  }
  await aborted(signal);
  await running.close();
  return exitCodes.ok;

  async function start() {
    const app = await ensureEmbeddedApp(settings.dataDir);
    const started = await startConversionService({
      dataDir: settings.dataDir,
      host: settings.host,
      port: settings.port,
      apps: [app.app],
      accountsFile: settings.accountsFile,
      conversionTimeoutMs: inMilliseconds(settings.conversionTimeoutSeconds),
      conversionConcurrency: settings.conversionConcurrency,
      maxConversionMemoryBytes: settings.maxConversionMemoryBytes,
      maxUploadBytes: settings.maxUploadBytes,
      maxDataBytes: settings.maxDataBytes,
      maxFormFields: settings.maxFormFields,
      maxDataDepth: settings.maxDataDepth,
      headersTimeoutMs: inMilliseconds(settings.headersTimeoutSeconds),
      bodyTimeoutMs: inMilliseconds(settings.bodyTimeoutSeconds),
      maxStoredBytes: settings.maxStoredBytes,
      minFreeBytes: settings.minFreeBytes,
      cleanupIntervalMs: inMilliseconds(settings.cleanupIntervalSeconds),
      taskRetentionMs: inMilliseconds(settings.taskRetentionDays * 24 * 60 * 60),
      log: (line) => output.say(line),
    });
    return { embedded: app, running: started };
  }
}

function inMilliseconds(seconds: number): number {
  return Math.ceil(seconds * 1_000);
}

function notStarted(error: unknown, { address, stateDir }: { address: string; stateDir: string }): CommandError {
  const explained = explainStateFolder(stateDir, error);
  if (explained instanceof CommandError) return explained;
  const reason = error instanceof Error ? error.message : String(error);
  const problem =
    systemErrorCode(error) === 'EADDRINUSE'
      ? `Another program listens on ${address}. End it, or give the service another port (FILECONV_SERVICE_PORT=0: any free one).`
      : `The conversion service can't start: ${reason}`;
  return new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
}
