import { ensureEmbeddedApp, startConversionService } from '../../service';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../exit';
import { CommandError, exitCodes } from '../exit';
import { aborted, reportReady, untilAskedToEnd } from '../stack/parent-process';

/** `fileconv service`: the embedded conversion service until it is asked to end. */
export async function service(context: CommandContext): Promise<ExitCode> {
  const { config, output } = context;
  const settings = config.values.service;
  const signal = untilAskedToEnd();
  const embedded = await ensureEmbeddedApp(settings.dataDir);
  const running = await startConversionService({
    dataDir: settings.dataDir,
    host: settings.host,
    port: settings.port,
    apps: [embedded.app],
    conversionTimeoutMs: settings.conversionTimeoutSeconds * 1_000,
    conversionConcurrency: settings.conversionConcurrency,
    maxUploadBytes: settings.maxUploadBytes,
    log: (line) => output.say(line),
  }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`The conversion service can't start: ${reason}`, exitCodes.failed, { cause: error });
  });
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
}
