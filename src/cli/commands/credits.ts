import { restoreCredits } from '../../client/restore-credits';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../exit';
import { exitCodes } from '../exit';
import { withTemporal } from '../stack/open-temporal';

/** `fileconv credits restored`: every job of an app that is parked for vCredits goes on at once. */
export async function creditsRestored(context: CommandContext, flags: { app?: string }): Promise<ExitCode> {
  const { config, output } = context;
  const app = flags.app ?? config.values.defaultApp;
  return withTemporal(context, async ({ client }) => {
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
