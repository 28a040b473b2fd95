import { ConversionFailedError, ConversionHandle } from 'temporal-file-conversion/internal/client/conversion-handle';
import { lastSegment, type ConversionJobResult } from 'temporal-file-conversion/internal/shared/job';
import { fileSize, printable, shellWord } from 'temporal-file-conversion/internal/shared/wording';
import { shownPath } from 'temporal-file-conversion/internal/storage/file-uri';
import type { CommandContext } from '../../command-context';
import { exitCodes, type ExitCode } from '../../command-error';
import { currentStep, showStep } from '../../convert/report';
import { aborted, untilAskedToEnd } from '../../stack/asked-to-end';
import { createStallReader, stallJson, StallNews, stallText } from '../../waiting/stall';
import { withJob } from './control';

export async function jobWatch(context: CommandContext, workflowId: string): Promise<ExitCode> {
  const { output } = context;
  const signal = untilAskedToEnd(context);
  return withJob(context, workflowId, async (temporal, job) => {
    const handle = new ConversionHandle(temporal.client.workflow.getHandle(workflowId));
    const { source, output: to } = job.input;
    const step = showStep(output, {
      file: 'uri' in source ? lastSegment(source.uri) : source.connector,
      to,
      ask: () => temporal.untilClosed(() => currentStep(handle)),
    });
    if (!output.isLive && job.status === 'running') output.say(`${job.summary} is ${job.phase ?? 'running'}; waiting.`);
    const reader = createStallReader(context, temporal.client);
    const news = new StallNews({
      output,
      async explain() {
        const { stall } = await reader.job(workflowId);
        return stall && { who: job.summary, stall };
      },
    });
    const waiting = temporal.untilClosed(() => Promise.race([handle.result(), aborted(signal)]));
    try {
      const result = await waiting.finally(() => {
        news.close();
        step.close();
      });
      if (result) return ended(context, job, result);
      const { last } = news;
      const fate = last ? stallText('The job', last) : 'The job continues without this command.';
      output.say(`${fate} Come back: fileconv job watch ${shellWord(workflowId)}`);
      if (output.json) output.printJson({ workflowId, status: 'unfinished', ...(last && stallJson(last)) });
      return exitCodes.interrupted;
    } catch (error) {
      if (!(error instanceof ConversionFailedError)) throw error;
      const { code, message } = error;
      output.fail(`${message} See: fileconv job show ${shellWord(workflowId)}`);
      if (output.json) output.printJson({ workflowId, status: 'failed', error: { code, message } });
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
    output.warn(`${printable(summary)}: the service may have charged this conversion twice.`);
  }
  return exitCodes.ok;
}
