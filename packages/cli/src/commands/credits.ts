import { restoreCredits } from 'temporal-file-conversion/internal/client/operations/restore-credits';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../command-error';
import { tellApp, type AppFlags } from './tell-app';

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
