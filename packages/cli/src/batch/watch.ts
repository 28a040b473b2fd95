import { setTimeout as sleep } from 'node:timers/promises';
import { endedOf, messagesOf, progressText } from 'temporal-file-conversion/batch';
import { BatchFailedError, type BatchHandle } from 'temporal-file-conversion/client';
import type { BatchState, ConversionBatchResult, PlannedRows } from 'temporal-file-conversion/job';
import { printable, shellWord } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import type { Output } from '../output/output';
import { aborted } from '../process/asked-to-end';
import { readFollowing } from '../stack/follow-stack';
import type { StackInUse } from '../stack/connect';
import { createStallReader, StallNews } from '../waiting/stall';

const askEveryMs = 1_000;
/** Interval without a terminal, where lines are rare. Each query costs a worker a task. */
const askQuietlyEveryMs = 10_000;

interface Watched {
  stack: StackInUse;
  batch: BatchHandle;
}

interface WatchOptions extends Watched {
  signal: AbortSignal;
  onPlanned?: (planned: PlannedRows) => void;
}

/**
 * Shows a batch until it ends, and says why if it makes no progress.
 * @returns undefined if the signal came first.
 * @throws CommandError `BATCH_FAILED`
 */
export async function watchBatch(
  context: CommandContext,
  { stack, batch, signal, onPlanned }: WatchOptions,
): Promise<ConversionBatchResult | undefined> {
  const { output } = context;
  const progress = new BatchProgress(output, onPlanned);
  const watched = { stack, batch };
  const news = reportStalls(context, watched);
  const over = new AbortController();
  const showing = showUntil(over.signal, { watched, progress, isLive: output.isLive });
  try {
    const read = () => batch.result();
    const isEnd = (error: unknown) => error instanceof BatchFailedError;
    const result = await Promise.race([readFollowing(context, { stack, read, isEnd, signal }), aborted(signal)]);
    if (result) progress.planned(result);
    return result;
  } catch (error) {
    if (error instanceof BatchFailedError) {
      // The files left out explain why there is nothing to do.
      for (const { message } of error.refusedPlan?.warnings.listed ?? []) output.warn(printable(message));
    }
    throw explainBatchFailure(error);
  } finally {
    over.abort();
    news.close();
    progress.close();
    const shown = new AbortController();
    await Promise.race([
      showing.finally(() => shown.abort()),
      // Aborted afterwards, because a pending timer keeps the process alive.
      sleep(askEveryMs, undefined, { signal: shown.signal }).catch(() => undefined),
    ]);
  }
}

function reportStalls(context: CommandContext, { stack, batch }: Watched): StallNews {
  let endedBefore = -1;
  const news = new StallNews({
    output: context.output,
    // The progress line already shows these.
    shownElsewhere: ['person', 'credits'],
    async explain() {
      const { stall, state } = await createStallReader(context, stack).batch(batch.name);
      const ended = state ? endedOf(state) : endedBefore;
      const moved = ended > endedBefore;
      endedBefore = ended;
      // The first query has nothing to compare with.
      if (moved && ended > 0) news.moved();
      else if (stall) return { who: `Batch ${batch.name}`, stall };
      return undefined;
    },
  });
  return news;
}

async function showUntil(
  over: AbortSignal,
  { watched, progress, isLive }: { watched: Watched; progress: BatchProgress; isLive: boolean },
): Promise<void> {
  // A function, since TypeScript would otherwise narrow `aborted` to false for good.
  const hasEnded = () => over.aborted;
  const untilNext = () =>
    sleep(isLive || !progress.isPlanned ? askEveryMs : askQuietlyEveryMs, undefined, { signal: over }).catch(
      () => undefined,
    );
  // A bar appears at once; a batch that ends before the first line is due prints none.
  if (!isLive) await untilNext();
  while (!hasEnded()) {
    const state = await watched.stack.untilClosed(() => watched.batch.state()).catch(() => undefined);
    if (hasEnded()) return;
    if (state) progress.show(state);
    else progress.showSilence();
    await untilNext();
  }
}

/** The workflow was ended from outside or timed out, so work is left. */
const endedFromOutside: readonly string[] = ['TERMINATED', 'TIMED_OUT', 'CANCELLED'];

/** The error to throw if a batch has no result; returns other errors unchanged. */
export function explainBatchFailure(error: unknown): unknown {
  if (!(error instanceof BatchFailedError)) return error;
  const { batch, code, message, refusedPlan } = error;
  if (refusedPlan) {
    const [first = message, ...others] = messagesOf(refusedPlan.problems);
    return new CommandError('INPUT_UNUSABLE', [first, ...others], { cause: error });
  }
  const retry = `Jobs in flight continue. To do what is left: fileconv batch retry ${shellWord(batch)}`;
  const text = endedFromOutside.includes(code) ? `${message.replace(/\.?$/, '.')} ${retry}` : message;
  return new CommandError('BATCH_FAILED', [text], { cause: error });
}

const barCells = 24;
/** The rate covers the last half minute: earlier progress says nothing about the remaining time. */
const rateWindowMs = 30_000;
const newsEveryMs = 30_000;

/** Shows the progress of a batch: a bar on a terminal, else occasional lines. */
class BatchProgress {
  private readonly samples: { at: number; ended: number }[] = [];
  private shownAt = Date.now();
  private shownCode: string | undefined;

  isPlanned = false;

  constructor(
    private readonly output: Output,
    private readonly onPlanned: ((planned: PlannedRows) => void) | undefined,
  ) {}

  planned({ planned }: BatchState): void {
    if (!planned || this.isPlanned) return;
    this.isPlanned = true;
    this.onPlanned?.(planned);
  }

  show(state: BatchState, now = Date.now()): void {
    this.planned(state);
    const ended = endedOf(state);
    this.samples.push({ at: now, ended });
    while (this.samples.length > 2 && now - (this.samples[0]?.at ?? now) > rateWindowMs) this.samples.shift();
    const prefix = state.status === 'paused' || state.status === 'stopping' ? `${state.status}, ` : '';
    const text = prefix + progressText(state, this.perSecond());
    const { code, message } = state.needsAttention ?? {};
    const attention = message === undefined ? [] : [message];
    if (this.output.isLive) {
      this.output.live([`${bar(ended, state.items)} ${text}`, ...attention]);
    } else if (now - this.shownAt >= newsEveryMs || (code !== undefined && code !== this.shownCode)) {
      this.shownAt = now;
      if (!this.output.quiet) for (const line of [text, ...attention]) this.output.say(line);
      else if (code !== this.shownCode) for (const line of attention) this.output.warn(line);
    }
    this.shownCode = code;
  }

  showSilence(): void {
    if (this.output.isLive) this.output.live(['No worker answers. What is broken: fileconv doctor']);
  }

  close(): void {
    this.output.live([]);
  }

  private perSecond(): number | undefined {
    const [first] = this.samples;
    const last = this.samples.at(-1);
    if (!first || !last || last.at - first.at < 2_000) return undefined;
    return ((last.ended - first.ended) * 1_000) / (last.at - first.at);
  }
}

function bar(ended: number, items: number): string {
  const full = items === 0 ? barCells : Math.floor((ended / items) * barCells);
  return `[${'█'.repeat(full)}${'░'.repeat(barCells - full)}]`;
}
