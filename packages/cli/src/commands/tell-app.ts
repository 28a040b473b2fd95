import type { Client } from '@temporalio/client';
import { hasJobs } from 'temporal-file-conversion/internal/client/operations/restore-credits';
import type { Signalled } from 'temporal-file-conversion/internal/client/operations/signal-waiting';
import { counted } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { CommandError, exitCodes, type ExitCode } from '../command-error';
import { embeddedApp } from '../config/schema';
import { withTemporal } from '../stack/open-temporal';

export interface AppFlags {
  app?: string;
}

interface Telling {
  tell: (client: Client, options: { app: string }) => Promise<Signalled>;
  /** What waits: `job`, `batch`. */
  singular: string;
  plural: string;
  /** Completes "No job of app billing": `waits for vCredits`. */
  wait: string;
  /** Ends the message about an app that nobody knows: where to look. */
  hint: string;
}

/** Tells everything of an app that waits for an operator to go on. */
export async function tellApp(
  context: CommandContext,
  flags: AppFlags,
  { tell, singular, plural, wait, hint }: Telling,
): Promise<ExitCode> {
  const { config, output } = context;
  const app = flags.app ?? config.values.defaultApp;
  return withTemporal(context, async ({ client }) => {
    if (!isConfigured(context, app) && (await hasJobs(client, app)) === false) {
      throw new CommandError('UNKNOWN_APP', [
        `There is no app profile called "${app}" here, and no job of such an app. ${hint}`,
      ]);
    }
    const told = await tell(client, { app });
    const { signalled, failed } = told;
    const missed = failed === 0 ? '' : ` ${failed} could not be told; type the command again.`;
    if (output.json) output.printJson({ app, ...told });
    else if (signalled + failed === 0) output.print(`No ${singular} of app ${app} ${wait}.`);
    else output.print(`${counted(signalled, singular, plural)} of app ${app} told to go on.${missed}`);
    return failed === 0 ? exitCodes.ok : exitCodes.failed;
  });
}

function isConfigured({ config }: CommandContext, app: string): boolean {
  return app === embeddedApp || Object.hasOwn(config.values.apps, app);
}
