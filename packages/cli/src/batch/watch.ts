import { setTimeout as sleep } from 'node:timers/promises';
import { BatchFailedError, type BatchHandle } from 'temporal-file-conversion/internal/client/batch-handle';
import type { ConversionBatchResult } from 'temporal-file-conversion/internal/shared/batch';
import { shellWord } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { aborted } from '../stack/parent-process';
import type { StackInUse } from '../stack/stack-in-use';
import { createStallReader } from '../waiting/explain-stall';
import { StallNews, type Stall } from '../waiting/stall';
import { BatchProgress, endedOf } from './progress';

const askEveryMs = 1_000;
/** Without a terminal, where a line is written now and then. Each look costs a worker a task. */
const askQuietlyEveryMs = 10_000;

/**
 * Shows a batch until it ends, and says why when nothing progresses.
 * @returns no result when the signal came before the end of the batch; the stall is what it waited for then.
 * @throws CommandError `BATCH_FAILED`
 */
export async function watchBatch(
  context: CommandContext,
  { stack, batch, signal }: { stack: StackInUse; batch: BatchHandle; signal: AbortSignal },
): Promise<{ result?: ConversionBatchResult; stall?: Stall }> {
  const { output } = context;
  const progress = new BatchProgress(output);
  const news = tellStalls(context, { stack, batch });
  const over = new AbortController();
  const showing = showUntil(over.signal, { stack, batch, progress, isLive: output.isLive });
  try {
    const result = await Promise.race([stack.untilClosed(() => batch.result()), aborted(signal)]);
    return { ...(result && { result }), ...(news.last && { stall: news.last }) };
  } catch (error) {
    throw explainBatchFailure(error);
  } finally {
    over.abort();
    news.close();
    progress.close();
    const shown = new AbortController();
    await Promise.race([
      showing.finally(() => shown.abort()),
      // Aborted afterwards: a timer that is left keeps the process alive.
      sleep(askEveryMs, undefined, { signal: shown.signal }).catch(() => undefined),
    ]);
  }
}

function tellStalls(context: CommandContext, { stack, batch }: { stack: StackInUse; batch: BatchHandle }): StallNews {
  let endedBefore = -1;
  const news = new StallNews({
    output: context.output,
    // The progress line shows these.
    toldElsewhere: ['room', 'attention'],
    async explain() {
      const { stall, state } = await createStallReader(context, stack.client).batch(batch.name);
      const ended = state ? endedOf(state) : endedBefore;
      const moved = ended > endedBefore;
      endedBefore = ended;
      // The first look has nothing to compare with.
      if (moved && ended > 0) news.moved();
      else if (stall) return { who: `Batch ${batch.name}`, stall };
      return undefined;
    },
  });
  return news;
}

async function showUntil(
  over: AbortSignal,
  {
    stack,
    batch,
    progress,
    isLive,
  }: { stack: StackInUse; batch: BatchHandle; progress: BatchProgress; isLive: boolean },
): Promise<void> {
  let isOver = false;
  over.addEventListener('abort', () => (isOver = true), { once: true });
  const hasEnded = () => isOver;
  const untilNext = () =>
    sleep(isLive ? askEveryMs : askQuietlyEveryMs, undefined, { signal: over }).catch(() => undefined);
  // A bar is shown at once; a batch that ends before the first line is due writes none.
  if (!isLive) await untilNext();
  while (!hasEnded()) {
    const state = await stack.untilClosed(() => batch.state()).catch(() => undefined);
    if (hasEnded()) return;
    if (state) progress.show(state);
    else progress.showSilence();
    await untilNext();
  }
}

/** The workflow was ended from outside, or ran out of time: the rest is still to do. */
const endedFromOutside: readonly string[] = ['TERMINATED', 'TIMED_OUT', 'CANCELLED'];

/** The error to throw when a batch has no result; other errors are returned unchanged. */
export function explainBatchFailure(error: unknown): unknown {
  if (!(error instanceof BatchFailedError)) return error;
  const { batch, code, message } = error;
  const next = `Jobs in flight go on. What is left is done by: fileconv batch retry ${shellWord(batch)}`;
  const text = endedFromOutside.includes(code) ? `${message.replace(/\.?$/, '.')} ${next}` : message;
  return new CommandError('BATCH_FAILED', [text], { cause: error });
}
