import { allow, foreignRecipients } from '../allowed-origins';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import type { ExitCode } from '../exit';
import { exitCodes } from '../exit';

/** `fileconv config allow`: remembers what the configuration file of this folder may send where. */
export async function configAllow(context: CommandContext): Promise<ExitCode> {
  const { output, config } = context;
  if (config.file === undefined) {
    throw new CommandError('INPUT_UNUSABLE', ['There is no fileconv.toml here. Change to its folder.']);
  }
  const allowed = foreignRecipients(context);
  if (allowed.length > 0) await allow(context, allowed);
  if (output.json) output.printJson({ allowed });
  else if (allowed.length === 0) output.print(`${config.file} sends no secret beyond this machine.`);
  else for (const { file, origin, what } of allowed) output.print(`${file} may send ${what} to ${origin}.`);
  return exitCodes.ok;
}
