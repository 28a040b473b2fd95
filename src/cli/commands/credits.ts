import { restoreCredits } from '../../client/restore-credits';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import type { ExitCode } from '../exit';
import { exitCodes } from '../exit';
import { connect } from '../stack/stack-in-use';
import { findTemporal } from '../stack/temporal-in-use';

/** `fileconv credits restored`: every job of an app that is parked for vCredits goes on at once. */
export async function creditsRestored(context: CommandContext, flags: { app?: string }): Promise<ExitCode> {
  const { config, output } = context;
  const { values } = config;
  const app = flags.app ?? values.defaultApp;
  const { target, isLocal, stack } = await findTemporal(context);
  if (isLocal && !stack) {
    throw new CommandError('TEMPORAL_UNREACHABLE', [
      `No stack runs in ${values.state.dir}, so no job waits there now. Start it: fileconv up`,
    ]);
  }
  const temporal = await connect(target, { serviceUrl: '', taskQueue: values.worker.taskQueue });
  try {
    const restored = await temporal.untilClosed(() => restoreCredits(temporal.client, { app }));
    if (output.json) output.printJson({ app, ...restored });
    else output.print(tell(app, restored));
    return restored.failed === 0 ? exitCodes.ok : exitCodes.failed;
  } finally {
    await temporal.close();
  }
}

function tell(app: string, { signalled, failed }: { signalled: number; failed: number }): string {
  if (signalled + failed === 0) return `No job of app ${app} waits for vCredits.`;
  const missed = failed === 0 ? '' : ` ${failed} could not be told; type the command again.`;
  return `${signalled} job${signalled === 1 ? '' : 's'} of app ${app} told to go on.${missed}`;
}
