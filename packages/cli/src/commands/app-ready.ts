import { hasJobs, signalAppReady } from 'temporal-file-conversion/client';
import { counted } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { CommandError, exitCodes, type ExitCode } from '../command-error';
import { embeddedApp } from '../config/schema';
import { withTemporal } from '../stack/open-temporal';

export async function readyApp(
  context: CommandContext,
  { app = context.config.values.defaultApp }: { app?: string },
): Promise<ExitCode> {
  const { config, output } = context;
  const isConfigured = app === embeddedApp || Object.hasOwn(config.values.apps, app);
  return withTemporal(context, async ({ client }) => {
    if (!isConfigured && (await hasJobs(client, app)) === false) {
      throw new CommandError('UNKNOWN_APP', [
        `There is no app profile called "${app}" here, and no job of such an app. What jobs wait for: fileconv job list --status parked`,
      ]);
    }
    const outcome = await signalAppReady(client, { app });
    const { signalled, failed } = outcome;
    const missed = failed === 0 ? '' : ` ${failed} could not be reached; run the command again.`;
    output.result(
      { app, ...outcome },
      signalled + failed === 0
        ? `No job of app ${app} is parked.`
        : `${counted(signalled, 'job')} of app ${app} will try again now.${missed}`,
    );
    return failed === 0 ? exitCodes.ok : exitCodes.failed;
  });
}
