import { defined } from 'temporal-file-conversion/job';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../command-error';
import { temporalTarget } from '../config/temporal-connection';
import { checkInput, checkResult, destinationOf, isSearched, piped } from '../convert/plan';
import type { ConvertFlags } from '../convert/run-job';
import { settleFormat } from '../formats/formats';
import { untilAskedToEnd } from '../process/asked-to-end';

/** Converts to one result by a durable job, after all checks that are possible in advance; several results are a batch. */
export async function convert(
  context: CommandContext,
  files: readonly string[],
  { to: formats, exclude, recursive, ...flags }: Omit<ConvertFlags, 'to'> & SeveralFlags,
): Promise<ExitCode> {
  const { config, cwd } = context;
  const [file = '', ...otherFiles] = files;
  const [to = '', ...otherFormats] = formats;
  if (files.includes(piped) || flags.out === piped) {
    const { convertPiped } = await import('../convert/convert-piped.js');
    return convertPiped(context, files, { ...flags, formats });
  }
  const isFiltered = exclude.length > 0 || recursive === true;
  if (otherFiles.length + otherFormats.length > 0 || isFiltered || (await isSearched(file, cwd))) {
    const { batchRun } = await import('./batch/run.js');
    return batchRun(context, files, { ...flags, to: formats, exclude, ...defined({ recursive }) });
  }
  const { from, out } = flags;
  const app = flags.app ?? config.values.defaultApp;
  const onExisting = flags.onExisting ?? config.values.policies.onExisting;
  const signal = untilAskedToEnd(context);
  const input = await checkInput(file, cwd);
  const extension = await settleFormat(context, app, { input, from, to, signal });
  const planned = { input, to, destination: destinationOf(input, { cwd, out, extension }) };
  await checkResult(planned, { cwd, onExisting, writtenByUs: !temporalTarget(context).isNamed });
  // Lazy: loading Temporal's client takes longer than all checks.
  const { convertOne } = await import('../convert/convert-one.js');
  return (await convertOne(context, planned, { ...flags, app, onExisting, signal })).exitCode;
}

interface SeveralFlags {
  to: string[];
  exclude: string[];
  recursive?: boolean;
}
