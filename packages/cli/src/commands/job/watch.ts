import { ConversionFailedError } from 'temporal-file-conversion/client';
import { type ConversionJobResult, lastSegment } from 'temporal-file-conversion/job';
import { fileSize, printable, shellWord, timesCharged } from 'temporal-file-conversion/messages';
import { shownPath } from 'temporal-file-conversion/storage';
import type { CommandContext } from '../../command-context';
import { exitCodes, type ExitCode } from '../../command-error';
import { awaitJob } from '../../convert/await-job';
import { untilAskedToEnd } from '../../stack/asked-to-end';
import { stallJson, stallText } from '../../waiting/stall';
import { withJob } from './control';

export async function jobWatch(context: CommandContext, workflowId: string): Promise<ExitCode> {
  const { output } = context;
  const signal = untilAskedToEnd(context);
  return withJob(context, workflowId, async (temporal, job) => {
    const { source, output: to } = job.input;
    const file = 'uri' in source ? lastSegment(source.uri) : source.connector;
    if (!output.isLive && job.status === 'running') output.say(`${job.summary} is ${job.phase ?? 'running'}; waiting.`);
    try {
      const { result, stall } = await awaitJob(context, { workflowId, file, to, stack: temporal, signal });
      if (result) return ended(context, job, result);
      if (stall) output.say(stallText('The job', stall));
      output.say(`The job continues without this command. Come back: fileconv job watch ${shellWord(workflowId)}`);
      if (output.json) output.printJson({ workflowId, status: 'unfinished', ...(stall && stallJson(stall)) });
      return exitCodes.interrupted;
    } catch (error) {
      if (!(error instanceof ConversionFailedError)) throw error;
      const { code, message, details: { output: suspect } = {} } = error;
      output.fail(`${message} See: fileconv job show ${shellWord(workflowId)}`);
      const status = suspect ? 'suspect' : 'failed';
      if (output.json)
        output.printJson({ workflowId, status, ...(suspect && { output: suspect }), error: { code, message } });
      return exitCodes.failed;
    }
  });
}

function ended(
  { output }: CommandContext,
  { workflowId, summary }: { workflowId: string; summary: string },
  result: ConversionJobResult,
): ExitCode {
  const status = result.status === 'skipped' ? 'skipped' : 'converted';
  const file = result.output && { ...result.output, path: shownPath(result.output.uri) };
  if (output.json) output.printJson({ workflowId, ...result, status, ...(file && { output: file }) });
  else if (status === 'skipped') output.print(`${printable(summary)} skipped: its result exists`);
  else
    output.print(`${printable(summary)}: ${printable(file ? `${file.path} (${fileSize(file.bytes)})` : 'converted')}`);
  if (result.possiblyChargedTwice) {
    output.warn(`${printable(summary)}: the service may have charged this conversion ${timesCharged(result)}.`);
  }
  return exitCodes.ok;
}
