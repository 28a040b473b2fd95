import { hasJobs, restoreCredits } from 'temporal-file-conversion/internal/client/operations/restore-credits';
import type { CommandContext } from '../command-context';
import { CommandError, exitCodes, type ExitCode } from '../command-error';
import { embeddedApp } from '../config/schema';
import { withTemporal } from '../stack/open-temporal';

/** `fileconv credits restored`: resumes every job of an app that is parked for vCredits. */
export async function creditsRestored(context: CommandContext, flags: { app?: string }): Promise<ExitCode> {
  const { config, output } = context;
  const app = flags.app ?? config.values.defaultApp;
  return withTemporal(context, async ({ client }) => {
    if (!isConfigured(context, app) && (await hasJobs(client, app)) === false) {
      throw new CommandError('UNKNOWN_APP', [
        `There is no app profile called "${app}" here, and no job of such an app. What jobs wait for: fileconv job list --status awaitingCredits`,
      ]);
    }
    const restored = await restoreCredits(client, { app });
    if (output.json) output.printJson({ app, ...restored });
    else output.print(tell(app, restored));
    return restored.failed === 0 ? exitCodes.ok : exitCodes.failed;
  });
}

function tell(app: string, { signalled, failed }: { signalled: number; failed: number }): string {
  if (signalled + failed === 0) return `No job of app ${app} waits for vCredits.`;
  const missed = failed === 0 ? '' : ` ${failed} could not be told; type the command again.`;
  return `${signalled} job${signalled === 1 ? '' : 's'} of app ${app} told to go on.${missed}`;
}

function isConfigured({ config }: CommandContext, app: string): boolean {
  return app === embeddedApp || Object.hasOwn(config.values.apps, app);
}
