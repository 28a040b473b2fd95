import { appReady } from 'temporal-file-conversion/internal/client/operations/app-ready';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../command-error';
import { tellApp, type AppFlags } from './tell-app';

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
