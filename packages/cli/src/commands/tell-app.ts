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

interface Telling {
  tell: (client: Client, options: { app: string }) => Promise<Signalled>;
  singular: string;
  plural: string;
  /** Completes "No job of app billing", where nobody was told: `waits for vCredits`. */
  isNot: string;
  /** Ends the message about an app that nobody knows: where to look. */
  hint: string;
}

export function creditsRestored(context: CommandContext, flags: AppFlags): Promise<ExitCode> {
  return tellApp(context, flags, {
    tell: restoreCredits,
    singular: 'job',
    plural: 'jobs',
    isNot: 'waits for vCredits',
    hint: 'What jobs wait for: fileconv job list --status awaitingCredits',
  });
}

export function readyApp(context: CommandContext, flags: AppFlags): Promise<ExitCode> {
  return tellApp(context, flags, {
    tell: appReady,
    singular: 'batch',
    plural: 'batches',
    isNot: 'is running',
    hint: 'What a batch waits for: fileconv batch status NAME',
  });
}

async function tellApp(
  context: CommandContext,
  { app = context.config.values.defaultApp }: AppFlags,
  { tell, singular, plural, isNot, hint }: Telling,
): Promise<ExitCode> {
  const { config, output } = context;
  const isConfigured = app === embeddedApp || Object.hasOwn(config.values.apps, app);
  return withTemporal(context, async ({ client }) => {
    if (!isConfigured && (await hasJobs(client, app)) === false) {
      throw new CommandError('UNKNOWN_APP', [
        `There is no app profile called "${app}" here, and no job of such an app. ${hint}`,
      ]);
    }
    const told = await tell(client, { app });
    const { signalled, failed } = told;
    const missed = failed === 0 ? '' : ` ${failed} could not be told; type the command again.`;
    output.result(
      { app, ...told },
      signalled + failed === 0
        ? `No ${singular} of app ${app} ${isNot}.`
        : `${counted(signalled, singular, plural)} of app ${app} told to continue.${missed}`,
    );
    return failed === 0 ? exitCodes.ok : exitCodes.failed;
  });
}
