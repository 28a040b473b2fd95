import { folderOf, reportOf, summariseReport } from 'temporal-file-conversion/batch';
import { type ConversionBatchResult, defined } from 'temporal-file-conversion/job';
import { printable } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { CommandError, exitCodes, type ExitCode } from '../command-error';
import type { StackInUse } from '../stack/connect';
import { filesOf } from '../stores';

interface EndedBatch {
  stack: Pick<StackInUse, 'client' | 'uiUrl'>;
  name: string;
  result: ConversionBatchResult;
  again?: boolean;
  /** Number of new files that can't be converted; if there are any, the run is no success. */
  unconvertible?: number;
}

export async function finishBatch(
  context: CommandContext,
  { stack, name, result, again = false, unconvertible = 0 }: EndedBatch,
): Promise<ExitCode> {
  const { output } = context;
  const files = filesOf(context);
  if (result.results === undefined) {
    if (result.status === 'cancelled' && !result.planned && result.items === 0) {
      const text = `Batch ${name} was cancelled while it looked for files: nothing was converted.`;
      throw new CommandError('BATCH_FAILED', [`${text} Run the same batch again to start over.`]);
    }
    const why = result.planned
      ? 'there was never anything to do'
      : 'its items came from a program, and its results are in its workflow';
    throw new CommandError('INPUT_UNUSABLE', [`Batch ${name} has no report: ${why}.`]);
  }
  const { namespace } = stack.client.options;
  const options = {
    batch: name,
    folder: folderOf(result.results),
    state: result,
    ...(stack.uiUrl !== undefined && { ui: { url: stack.uiUrl, namespace } }),
  };
  const report = await reportOf(files, { ...options, again: again || result.report === undefined });
  const { estimate } = result.planned ?? {};
  const { counts, leftOut } = report;
  // Work is left if files failed, were not tried, or could not be read.
  const isWhole = counts.failed + counts.cancelled + unconvertible === 0 && !leftOut;
  const exitCode = isWhole ? exitCodes.ok : exitCodes.failed;
  const lines = summariseReport(report).map(printable);
  if (output.json)
    output.printJson({ ...report, ...defined({ estimate }), ...(unconvertible > 0 && { unconvertible }) });
  // Cron mails what is printed, not the exit code.
  else if (output.quiet && exitCode !== exitCodes.ok) output.fail(lines.join('\n'));
  else for (const line of lines) output.print(line);
  return exitCode;
}
