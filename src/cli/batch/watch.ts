import { setTimeout as sleep } from 'node:timers/promises';
import { BatchFailedError, type BatchHandle } from '../../client/batch-handle';
import type { ConversionBatchResult } from '../../shared/batch';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { aborted } from '../stack/parent-process';
import type { StackInUse } from '../stack/stack-in-use';
import { BatchProgress } from './progress';

const askEveryMs = 1_000;
/** Where only a line now and then is written. Each look is a task for a worker. */
const askQuietlyEveryMs = 10_000;

/**
 * Shows a batch until it ends.
 * @returns undefined when the signal ended the watching before the batch did.
 * @throws CommandError `BATCH_FAILED`
 */
export async function watchBatch(
  { output }: CommandContext,
  { stack, batch, signal }: { stack: StackInUse; batch: BatchHandle; signal: AbortSignal },
): Promise<ConversionBatchResult | undefined> {
  const progress = new BatchProgress(output);
  const over = new AbortController();
  const showing = showUntil(over.signal, { stack, batch, progress, isLive: output.isLive });
  try {
    return await Promise.race([stack.untilClosed(() => batch.result()), aborted(signal).then(() => undefined)]);
  } catch (error) {
    if (error instanceof BatchFailedError) throw new CommandError('BATCH_FAILED', [error.message], { cause: error });
    throw error;
  } finally {
    over.abort();
    progress.close();
    const shown = new AbortController();
    await Promise.race([
      showing.finally(() => shown.abort()),
      // Ended with it: a timer that is left behind keeps the process, and whoever waits for the command, for its whole time.
      sleep(askEveryMs, undefined, { signal: shown.signal }).catch(() => undefined),
    ]);
  }
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
  // A bar is there at once; nothing is written of a batch that is over before the first line is due.
  if (!isLive) await untilNext();
  while (!hasEnded()) {
    const state = await stack.untilClosed(() => batch.state()).catch(() => undefined);
    if (hasEnded()) return;
    if (state) progress.show(state);
    else progress.showSilence();
    await untilNext();
  }
}
