import { maxInlineItems } from 'temporal-file-conversion/internal/shared/inline-items';
import { formatCount, shellWord } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { CommandError, type ExitCode } from '../command-error';
import { temporalTarget } from '../config/temporal-connection';
import type { ConvertFlags } from '../convert/convert-on-stack';
import { findInputs } from '../convert/find-inputs';
import { piped, planResults, type Target } from '../convert/plan';
import { settleFormats } from '../formats/check';
import { untilAskedToEnd } from '../stack/asked-to-end';

/** A durable job, or a batch of them for several results, after everything was checked that can be checked beforehand. */
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
  const { results, existing } = await planResults(inputs, { cwd, out, targets, onExisting, writtenByUs });
  const asBatchRun = batchRunOf(files, flags);
  if (results.length > maxInlineItems) {
    throw new CommandError('USAGE', [
      `That makes ${formatCount(results.length)} results, and this command makes ${maxInlineItems} at most. For more: ${asBatchRun}`,
    ]);
  }
  // Temporal's client takes longer to load than all of the checks take.
  const { convertOnStack } = await import('../convert/convert-on-stack.js');
  const settings = { ...flags, app, onExisting, signal, existing, asBatchRun };
  return (await convertOnStack(context, results, settings)).exitCode;
}

/** The same as a batch, which also has a report. */
function batchRunOf(files: readonly string[], flags: ConvertFlags): string {
  const { to, from, param = {}, out, onExisting, onUnknownOutcome, mode, tag = [], app, exclude } = flags;
  const { recursive, resubmit, again } = flags;
  const options: [name: string, value: string | undefined][] = [
    ['to', to.join(',')],
    ['from', from],
    ...Object.entries(param).map(([name, value]): [string, string] => ['param', `${name}=${JSON.stringify(value)}`]),
    ['out', out],
    ...exclude.map((pattern): [string, string] => ['exclude', pattern]),
    ['on-existing', onExisting],
    ['on-unknown-outcome', onUnknownOutcome],
    ['mode', mode],
    ...tag.map((text): [string, string] => ['tag', text]),
    ['app', app],
  ];
  const words = options.flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${shellWord(value)}`]));
  const switches = Object.entries({ recursive, resubmit, again }).flatMap(([name, on]) => (on ? [`--${name}`] : []));
  return ['fileconv batch run', ...files.map(shellWord), ...words, ...switches].join(' ');
}
