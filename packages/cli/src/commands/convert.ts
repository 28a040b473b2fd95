import type { CommandContext } from '../command-context';
import type { ExitCode } from '../command-error';
import { temporalTarget } from '../config/temporal-connection';
import type { ConvertFlags } from '../convert/convert-on-stack';
import { findInputs } from '../convert/find-inputs';
import { piped, planResults, type Target } from '../convert/plan';
import { settleFormats } from '../formats/check';
import { untilAskedToEnd } from '../stack/parent-process';

/** One durable job a result, after everything was checked that can be checked beforehand. */
export async function convert(
  context: CommandContext,
  files: readonly string[],
  flags: ConvertFlags,
): Promise<ExitCode> {
  if (files.includes(piped) || flags.out === piped) {
    const { convertPiped } = await import('../convert/convert-piped.js');
    return convertPiped(context, files, flags);
  }
  const { config, cwd } = context;
  const { to, from, out } = flags;
  const app = flags.app ?? config.values.defaultApp;
  const onExisting = flags.onExisting ?? config.values.policies.onExisting;
  const signal = untilAskedToEnd(context);
  const inputs = await findInputs(context, files, { ...flags, signal });
  const extensions = await settleFormats(context, app, { inputs, from, to, signal });
  const targets = [...extensions].map(([format, extension]): Target => ({ to: format, extension }));
  const writtenByUs = !temporalTarget(context).isNamed;
  const results = await planResults(inputs, { cwd, out, targets, onExisting, writtenByUs });
  // Temporal's client takes longer to load than all of the checks take.
  const { convertOnStack } = await import('../convert/convert-on-stack.js');
  return (await convertOnStack(context, results, { ...flags, app, onExisting, signal })).exitCode;
}
