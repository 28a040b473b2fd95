import { setTimeout as sleep } from 'node:timers/promises';
import { aborted } from './parent-process';

/** How a part of a stack is started again, be it a process of ours or Temporal: after pauses that double. */

const firstDelayMs = 250;
export const maxDelayMs = 10_000;
const startAttempts = 5;

/** Starts a part for the first time. What kills parts may hit one while it starts: then, as `isWorthAnother` says, it is tried again. */
export async function startPersistently<Part>(
  start: () => Promise<Part>,
  {
    isWorthAnother,
    onRestart,
    signal,
  }: { isWorthAnother: (error: unknown) => boolean; onRestart: () => void; signal?: AbortSignal | undefined },
): Promise<Part> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (!isWorthAnother(error) || attempt === startAttempts) throw error;
      onRestart();
      await sleep(firstDelayMs * 2 ** (attempt - 1), undefined, { signal });
    }
  }
}

interface KeptPart<Part> {
  exited: (part: Part) => Promise<unknown>;
  /** Undefined when it could not be started: that is tried again. */
  startAgain: () => Promise<Part | undefined>;
  /** Called once for each part that has ended. */
  onRestart: () => void;
  /** A part that ran for so long is no reason for longer pauses. */
  provenAfterMs: number;
  /** Ends this; it ends no part. */
  signal: AbortSignal;
}

/** Starts a part again whenever it ends unasked. */
export async function keepRunning<Part>(first: Part, options: KeptPart<Part>): Promise<void> {
  const { exited, startAgain, onRestart, provenAfterMs, signal } = options;
  // A call, since control flow analysis takes a signal that was not aborted for one that never will be.
  const isOver = () => signal.aborted;
  let current: Part | undefined = first;
  let delayMs = firstDelayMs;
  for (;;) {
    const startedAt = performance.now();
    if (current !== undefined) {
      await Promise.race([exited(current), aborted(signal)]);
      if (isOver()) return;
      if (performance.now() - startedAt >= provenAfterMs) delayMs = firstDelayMs;
      onRestart();
    }
    await sleep(delayMs, undefined, { signal }).catch(() => undefined);
    if (isOver()) return;
    current = await startAgain();
    delayMs = Math.min(delayMs * 2, maxDelayMs);
  }
}

/** What a person is told when a part is started again. */
export function restartNews(part: string, logFile: string): string {
  return `${part} ended unasked; it is started again (log: ${logFile}).`;
}
