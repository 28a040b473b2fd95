import { ConversionFailedError, ConversionHandle, readPendingStep } from 'temporal-file-conversion/client';
import type { ConversionJobResult } from 'temporal-file-conversion/job';
import { printable } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import type { Output } from '../output/output';
import { columnsOf, fitMiddle } from '../output/text';
import { aborted } from '../stack/asked-to-end';
import { readFollowing } from '../stack/follow-stack';
import type { StackInUse } from '../stack/open-temporal';
import { createStallReader, StallNews } from '../waiting/stall';

interface AwaitedJob {
  workflowId: string;
  file: string;
  to: string;
  stack: StackInUse;
  signal: AbortSignal;
}

/**
 * Waits for a job; shows meanwhile what it does, and says why it does not progress.
 * @returns nothing when the signal came before the end.
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

/** On a terminal, a line that tells what a job does, as `ask` tells in a few words, until it is closed. */
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
    // The file name is shortened first: the step and the time are what changes.
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

/** What a job does now, in a few words. Asks Temporal alone, so that it works without a worker. */
async function currentStep(handle: ConversionHandle): Promise<string> {
  const pending = readPendingStep(await handle.describe());
  if (!pending) return 'waiting';
  const { step, attempt, lastFailure } = pending;
  // That a conversion is not finished is no failure worth showing.
  if (lastFailure === undefined || step === 'converting') return step;
  return `${step} (attempt ${attempt}: ${lastFailure})`;
}
