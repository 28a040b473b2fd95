import { ConversionFailedError, ConversionHandle, readPendingStep } from 'temporal-file-conversion/client';
import type { ConversionJobResult } from 'temporal-file-conversion/job';
import { printable } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import type { Output } from '../output/output';
import { columnsOf, fitMiddle } from '../output/text';
import { aborted } from '../process/asked-to-end';
import { readFollowing } from '../stack/follow-stack';
import type { StackInUse } from '../stack/connect';
import { createStallReader, StallNews } from '../waiting/stall';

interface AwaitedJob {
  workflowId: string;
  file: string;
  to: string;
  stack: StackInUse;
  signal: AbortSignal;
}

/**
 * Waits for a job, shows its current step, and says why it makes no progress.
 * @returns undefined if the signal came first.
 * @throws ConversionFailedError
 */
export async function awaitJob(
  context: CommandContext,
  { workflowId, file, to, stack, signal }: AwaitedJob,
): Promise<ConversionJobResult | undefined> {
  const { output } = context;
  const handle = new ConversionHandle(stack.client.workflow.getHandle(workflowId));
  const step = showStep(output, { file, to, ask: () => stack.untilClosed(() => currentStep(handle)) });
  const news = new StallNews({
    output,
    async explain() {
      const { stall } = await createStallReader(context, stack).job(workflowId);
      return stall && { who: file, stall };
    },
  });
  try {
    const isEnd = (error: unknown) => error instanceof ConversionFailedError;
    const read = () => handle.result();
    return await Promise.race([readFollowing(context, { stack, read, isEnd, signal }), aborted(signal)]);
  } finally {
    news.close();
    step.close();
  }
}

const drawEveryMs = 200;
const askEveryDraws = 5;

/** On a terminal, shows a line with the job's current step, as `ask` describes it, until closed. */
function showStep(
  output: Output,
  { file, to, ask }: { file: string; to: string; ask: () => Promise<string> },
): { close(): void } {
  if (!output.isLive) return { close: () => undefined };
  const startedAt = Date.now();
  let step = 'starting';
  let isAsking = false;
  let draws = 0;
  // Slow answers neither pile up nor delay the drawing.
  const look = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    step = printable(await ask().catch(() => 'no answer from Temporal'));
    isAsking = false;
  };
  const timer = setInterval(() => {
    if (draws % askEveryDraws === 0) void look();
    draws += 1;
    const before = `${String(Math.floor((Date.now() - startedAt) / 1_000)).padStart(5)} s  `;
    const after = ` → ${to}  ${step}`;
    // Only the file name is shortened, because the step and the time change.
    const room = Math.max(12, output.columns - columnsOf(before) - columnsOf(after));
    output.live([`${before}${fitMiddle(printable(file), room)}${after}`]);
  }, drawEveryMs);
  return {
    close() {
      clearInterval(timer);
      output.live([]);
    },
  };
}

/** The job's current step, in a few words. Asks only Temporal, so it works without a worker. */
async function currentStep(handle: ConversionHandle): Promise<string> {
  const pending = readPendingStep(await handle.describe());
  if (!pending) return 'waiting';
  const { step, attempt, lastFailure } = pending;
  // An unfinished conversion is no failure worth showing.
  if (lastFailure === undefined || step === 'converting') return step;
  return `${step} (attempt ${attempt}: ${lastFailure})`;
}
