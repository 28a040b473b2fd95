import type { Client } from '@temporalio/client';
import {
  appReady,
  hasJobs,
  restoreCredits,
  type Signalled,
} from 'temporal-file-conversion/internal/client/operations/tell-app';
import { counted } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { CommandError, exitCodes, type ExitCode } from '../command-error';
import { embeddedApp } from '../config/schema';
import { withTemporal } from '../stack/open-temporal';

interface AppFlags {
  app?: string;
}

/** `fileconv credits restored`: resumes every job of an app that is parked for vCredits. */
export function creditsRestored(context: CommandContext, flags: AppFlags): Promise<ExitCode> {
  return tellApp(context, flags, {
    tell: restoreCredits,
    singular: 'job',
    plural: 'jobs',
    wait: 'waits for vCredits',
    hint: 'What jobs wait for: fileconv job list --status awaitingCredits',
  });
}

/** `fileconv app ready`: resumes every batch of an app whose account the service had refused. */
export function readyApp(context: CommandContext, flags: AppFlags): Promise<ExitCode> {
  return tellApp(context, flags, {
    tell: appReady,
    singular: 'batch',
    plural: 'batches',
    wait: 'waits for its account',
    hint: 'What a batch waits for: fileconv batch status NAME',
  });
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
async function tellApp(
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
